"""Get and list: rules L-1 to L-11."""

from collections.abc import Callable

import anyio
import pytest

from kinformer.apiserver.rest import Listing, ListOptions, StatusError, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import MemoryKV
from kinformer.meta import FieldSelector, LabelSelector
from kinformer.testing import FakeClock, settle

At = Callable[..., Target]
WRITE = WriteOptions()


async def add(verbs: Verbs, at: At, *names: str, namespace: str = "default", **labels: str) -> None:
    for name in names:
        content = {"metadata": {"name": name, "labels": labels}}
        await verbs.create(at("configmaps", namespace), content, WRITE)


def names(page: Listing) -> list[str]:
    return [item.content["metadata"]["name"] for item in page.items]


async def test_an_object_comes_with_kind_version_and_resource_version(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    await add(verbs, at, "a")
    found = await verbs.get(at("configmaps", "default", "a"))
    assert found.content["kind"] == "ConfigMap"
    assert found.content["apiVersion"] == "v1"
    assert found.content["metadata"]["resourceVersion"] == str(await kv.revision())


async def test_what_is_missing_is_a_404_with_details(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.get(at("deployments", "default", "x"))
    assert caught.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "x" not found',
        "reason": "NotFound",
        "details": {"name": "x", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


async def test_l5_a_list_has_the_revision_of_the_whole_server(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    await add(verbs, at, "a")
    page = await verbs.list(at("secrets", "default"), ListOptions())
    assert page.items == []
    assert page.version == str(await kv.revision())


async def test_s3_items_come_in_the_order_of_their_keys(verbs: Verbs, at: At) -> None:
    for namespace in ("a", "a-b"):
        await verbs.create(at("namespaces"), {"metadata": {"name": namespace}}, WRITE)
        await add(verbs, at, "z", "b", namespace=namespace)
    page = await verbs.list(at("configmaps"), ListOptions())
    assert [
        (item.content["metadata"]["namespace"], item.content["metadata"]["name"]) for item in page.items
    ] == [
        ("a-b", "b"),
        ("a-b", "z"),
        ("a", "b"),
        ("a", "z"),
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
async def test_l7_pages_show_one_snapshot_whatever_is_written_between(
    verbs: Verbs, at: At, limit: int
) -> None:
    await add(verbs, at, *"abcde")
    first = page = await verbs.list(at("configmaps", "default"), ListOptions(limit=limit))
    seen = names(page)
    while page.continue_token:
        assert page.remaining == 5 - len(seen)
        await add(verbs, at, f"bb{len(seen)}")
        options = ListOptions(limit=limit, continue_token=page.continue_token)
        page = await verbs.list(at("configmaps", "default"), options)
        assert page.version == first.version
        seen += names(page)
    assert seen == list("abcde")
    assert page.remaining is None


async def test_with_a_selector_a_page_ends_when_it_is_full_and_says_nothing_of_the_rest(
    verbs: Verbs, at: At
) -> None:
    await add(verbs, at, "a", "c", app="x")
    await add(verbs, at, "b", "d")
    options = ListOptions(limit=2, labels=LabelSelector.parse("app=x"))
    page = await verbs.list(at("configmaps", "default"), options)
    assert names(page) == ["a", "c"]
    assert page.continue_token  # d follows, matching or not
    assert page.remaining is None


async def test_a_match_far_behind_is_found_without_a_continue_token(verbs: Verbs, at: At) -> None:
    await add(verbs, at, *(f"a{number:03}" for number in range(300)))
    await add(verbs, at, "z", app="x")
    options = ListOptions(limit=1, labels=LabelSelector.parse("app=x"))
    page = await verbs.list(at("configmaps", "default"), options)
    assert (names(page), page.continue_token) == (["z"], "")


async def test_any_version_ignores_the_limit(verbs: Verbs, at: At) -> None:
    await add(verbs, at, *"abc")
    page = await verbs.list(at("configmaps", "default"), ListOptions(version="0", limit=2))
    assert names(page) == list("abc")
    assert page.continue_token == ""


@pytest.mark.parametrize("options", [{"version_match": "Exact"}, {"limit": 5}])
async def test_an_exact_version_shows_the_past(verbs: Verbs, at: At, options: dict[str, object]) -> None:
    await add(verbs, at, "a")
    then = (await verbs.list(at("configmaps"), ListOptions())).version
    await add(verbs, at, "b")
    page = await verbs.list(at("configmaps"), ListOptions(version=then, **options))  # type: ignore[arg-type]
    assert (names(page), page.version) == (["a"], then)
    page = await verbs.list(at("configmaps"), ListOptions(version=then))
    assert names(page) == ["a", "b"]
    page = await verbs.list(
        at("configmaps"), ListOptions(version=then, version_match="NotOlderThan", limit=1)
    )
    assert names(page) == ["a"]
    assert int(page.version) > int(then)


async def test_l5_an_exact_version_that_was_compacted_is_expired(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    await add(verbs, at, "a", "b")
    await kv.compact(await kv.revision())
    with pytest.raises(StatusError, match="The resourceVersion for the provided list is too old") as caught:
        await verbs.list(at("configmaps"), ListOptions(version="2", version_match="Exact"))
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


async def test_l8_an_expired_token_comes_with_one_that_goes_on_at_the_present(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    await add(verbs, at, *"abc")
    page = await verbs.list(at("configmaps", "default"), ListOptions(limit=1))
    await add(verbs, at, "bb")
    await kv.compact(await kv.revision())
    with pytest.raises(StatusError) as caught:
        await verbs.list(
            at("configmaps", "default"), ListOptions(limit=1, continue_token=page.continue_token)
        )
    assert caught.value.code == 410
    token = caught.value.to_status()["metadata"]["continue"]
    page = await verbs.list(at("configmaps", "default"), ListOptions(limit=2, continue_token=token))
    assert names(page) == ["b", "bb"]
    assert page.version == str(await kv.revision())


async def test_l9_a_version_of_the_future_is_waited_for_and_then_refused(
    verbs: Verbs, at: At, clock: FakeClock, kv: MemoryKV
) -> None:
    caught: list[StatusError] = []

    async def ask() -> None:
        try:
            await verbs.list(at("configmaps"), ListOptions(version="999"))
        except StatusError as error:
            caught.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await clock.advance(2.9)
        assert not caught
        await clock.advance(0.2)
    assert caught[0].to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"Timeout: Too large resource version: 999, current: {await kv.revision()}",
        "reason": "Timeout",
        "details": {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    }
    assert kv.watches == 0


async def test_a_version_that_comes_up_in_time_is_answered_at_once(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    got: list[str] = []
    wanted = await kv.revision() + 2

    async def ask() -> None:
        got.append((await verbs.get(at("configmaps", "default", "b"), version=str(wanted))).json.decode())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await settle()
        await add(verbs, at, "a")
        await settle()
        assert not got
        await add(verbs, at, "b")
    assert '"name":"b"' in got[0]


async def test_a_cancelled_wait_for_the_future_leaves_nothing(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verbs.list, at("configmaps"), ListOptions(version="999"))
        await settle()
        tasks.cancel_scope.cancel()
    assert kv.watches == 0


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        pytest.param(
            ListOptions(version_match="Exact"),
            422,
            "forbidden unless resourceVersion is provided",
            id="match alone",
        ),
        pytest.param(
            ListOptions(version="1", version_match="Exact", continue_token="x"),
            422,
            "forbidden when continue is provided",
            id="match and continue",
        ),
        pytest.param(
            ListOptions(version="1", version_match="X"),
            422,
            'Unsupported value: "X": supported values: "", "Exact", "NotOlderThan"',
            id="unknown match",
        ),
        pytest.param(
            ListOptions(version="0", version_match="Exact"),
            422,
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
            id="exactly any",
        ),
        pytest.param(ListOptions(version="abc"), 400, 'strconv.ParseUint: parsing "abc"', id="no number"),
        pytest.param(
            ListOptions(version="5", continue_token="x"),
            400,
            "not allowed when using continue",
            id="version and token",
        ),
        pytest.param(ListOptions(continue_token="!"), 400, "invalid continue token", id="no token"),
        pytest.param(
            ListOptions(fields=FieldSelector.parse("spec.x=1")),
            400,
            '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
            id="unknown field",
        ),
    ],
)
async def test_l2_bad_options_are_refused(
    verbs: Verbs, at: At, options: ListOptions, code: int, text: str
) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.list(at("configmaps"), options)
    assert caught.value.code == code
    assert text in caught.value.message


async def test_l11_a_namespace_that_does_not_exist_is_empty(verbs: Verbs, at: At) -> None:
    assert (await verbs.list(at("configmaps", "nowhere"), ListOptions())).items == []


@pytest.mark.parametrize("version", ["abc", "-1", "9" * 20, "9" * 5000])
async def test_l4_what_is_no_number_of_64_bits_is_no_version(verbs: Verbs, at: At, version: str) -> None:
    with pytest.raises(StatusError, match="invalid resource version: resourceVersion: Invalid") as caught:
        await verbs.list(at("pods", "default"), ListOptions(version=version))
    assert caught.value.code == 400
