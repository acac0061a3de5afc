"""What happens to objects before they are kept."""

from typing import Any

import msgspec
import pytest

from kinformer.informer import MANAGED_FIELDS, Prune, Transform
from kinformer.informer._admission import Admission
from kinformer.meta import Pack, Record, Resource
from tests.unit.informer.stage import Quarantine

PODS = Resource.builtin("Pod")


def record(*, spec: int = 0, managed: bool = False) -> Record:
    metadata: dict[str, Any] = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"}
    if managed:
        metadata["managedFields"] = [{"manager": "kubectl"}]
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": spec}), PODS)


def admit(
    found: Record,
    *,
    prune: Prune | None = MANAGED_FIELDS,
    transform: Transform | None = None,
    pack: Pack | None = None,
) -> tuple[Record | None, list[str]]:
    """What is left of a record, and who is quarantined."""
    hooks = Quarantine()
    return Admission("pods", prune=prune, transform=transform, hooks=hooks, pack=pack)(found), hooks.keys


def spec_of(found: Record | None) -> object:
    assert found is not None
    return msgspec.json.decode(found.raw)["spec"]


def test_managed_fields_are_cut_unless_they_are_to_be_kept() -> None:
    pruned, _ = admit(record(managed=True))
    assert pruned is not None
    assert b"managedFields" not in pruned.raw
    assert admit(record(managed=True), prune=None) == (record(managed=True), [])


def test_what_needs_no_change_stays_the_record_that_it_is() -> None:
    found = record()
    assert admit(found)[0] is found


def test_a_transform_changes_the_object_in_place_or_gives_another() -> None:
    def count_up(content: dict[str, Any]) -> None:
        content["spec"] += 1

    def other(content: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": content["metadata"], "spec": 42}

    assert spec_of(admit(record(spec=1), transform=count_up)[0]) == 2
    assert spec_of(admit(record(spec=1), transform=other)[0]) == 42


def test_an_object_whose_transform_fails_is_quarantined() -> None:
    def refuse(content: dict[str, Any]) -> None:
        raise ValueError("odd")

    assert admit(record(), transform=refuse) == (None, ["default/a"])


def test_an_object_whose_pruning_fails_is_quarantined() -> None:
    def break_it(raw: bytes) -> bytes:
        raise ZeroDivisionError

    assert admit(record(), prune=break_it) == (None, ["default/a"])


@pytest.mark.parametrize("left", [None, "{}"])
def test_an_object_whose_pruning_leaves_no_bytes_is_quarantined(left: Any) -> None:
    assert admit(record(), prune=lambda _: left) == (None, ["default/a"])


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(b"\x00junk", id="junk"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b'{"metadata":{"name":"b","namespace":"default"}}', id="another object"),
    ],
)
def test_an_object_of_which_pruning_leaves_another_thing_is_quarantined(left: bytes) -> None:
    assert admit(record(), prune=lambda _: left) == (None, ["default/a"])


def test_metadata_is_read_again_from_what_a_prune_of_the_users_has_left() -> None:
    content = {"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"}}
    labelled = {"metadata": content["metadata"] | {"labels": {"a": "b"}}}
    found = Record.decode(msgspec.json.encode(labelled), PODS)
    kept, _ = admit(found, prune=lambda _: msgspec.json.encode(content))
    assert kept == Record.decode(msgspec.json.encode(content), PODS)


async def later(content: Any) -> Any:
    return content


class Later:
    """Gives something to await, which cannot be seen before."""

    def __call__(self, content: Any) -> Any:
        return later(content)


@pytest.mark.parametrize("given", [later, "x", 7])
@pytest.mark.parametrize("option", ["prune", "transform"])
def test_what_is_no_plain_function_is_refused_at_once(option: str, given: Any) -> None:
    options: dict[str, Any] = {"prune": None, "transform": None} | {option: given}
    with pytest.raises(TypeError, match=f"{option}=.* must be a (plain )?function"):
        Admission("pods", hooks=Quarantine(), **options)


@pytest.mark.parametrize("option", ["prune", "transform"])
def test_what_gives_something_to_await_is_quarantined_and_leaves_nothing_unawaited(option: str) -> None:
    options: dict[str, Any] = {option: Later()}
    assert admit(record(), **options) == (None, ["default/a"])


def test_an_object_of_another_namespace_is_quarantined() -> None:
    hooks = Quarantine()
    options: dict[str, Any] = {"prune": None, "transform": None, "hooks": hooks}
    assert Admission("pods", namespace="default", **options)(record()) == record()
    assert Admission("pods", namespace="other", **options)(record()) is None
    assert hooks.keys == ["default/a"]


def test_a_transform_that_changes_the_identity_is_an_error() -> None:
    def rename(content: dict[str, Any]) -> None:
        content["metadata"]["name"] = "other"

    assert admit(record(), transform=rename) == (None, ["default/a"])


class Packing:
    """Writes bytes backwards."""

    def unpack(self, held: bytes, /) -> bytes:
        return held[::-1]


def packed(found: Record) -> Record:
    if found.packing is not None:
        return found
    return Record(found.resource, found.key, found.metadata, found.raw[::-1], Packing())


def test_what_is_kept_is_compressed_at_the_end() -> None:
    def count_up(content: dict[str, Any]) -> None:
        content["spec"] += 1

    for found in (record(managed=True), packed(record(managed=True))):
        kept, _ = admit(found, transform=count_up, pack=packed)
        assert kept is not None
        assert kept.packing is not None
        assert spec_of(kept) == 1
        assert b"managedFields" not in kept.raw


def test_what_came_compressed_and_needs_no_change_stays_as_it_is() -> None:
    found = packed(record())
    assert admit(found, pack=packed)[0] is found
    assert admit(packed(record(managed=True)), pack=packed)[0] != found


def shorten(found: Record, *, prune: Prune | None = MANAGED_FIELDS, pack: Pack | None = None) -> Record:
    def refuse(content: dict[str, Any]) -> None:
        raise AssertionError("nothing of the user's is called")

    return Admission("pods", prune=prune, transform=refuse, hooks=Quarantine(), pack=pack).shorten(found)


def test_what_is_listed_is_shortened_by_what_may_be_done_twice() -> None:
    assert shorten(record(managed=True)).raw == record().raw
    short = shorten(record(managed=True), pack=packed)
    assert short.packing is not None
    assert short.raw == record().raw
    assert shorten(short, pack=packed) is short


def test_a_prune_of_the_users_is_not_called_before_its_time() -> None:
    def refuse(raw: bytes) -> bytes:
        raise AssertionError("it may mind being called twice")

    for prune in (refuse, None):
        found = record(managed=True)
        assert shorten(found, prune=prune) is found
