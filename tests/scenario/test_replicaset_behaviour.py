"""The ReplicaSet controller of the examples does what the real one does, against the embedded apiserver."""

from collections import Counter

import anyio
import httpx
import pytest

from kinformer.controller import Consistency
from kinformer.testing import settle
from tests.scenario.replicaset_stage import (
    KEY,
    LABELS,
    Scene,
    Send,
    orphan,
    ready,
    refusal,
    replica_set,
    scene,
)


def condition(scene_status: object) -> tuple[str, str]:
    assert isinstance(scene_status, dict)
    found = [each for each in scene_status.get("conditions", ()) if each["type"] == "ReplicaFailure"]
    return (found[0]["reason"], found[0]["message"]) if found else ("", "")


async def test_matching_orphans_are_adopted_and_only_the_rest_is_made() -> None:
    others = [orphan("done") | {"status": {"phase": "Succeeded"}}, orphan("stranger", app="db")]
    async with scene(replica_set(3), orphan("a"), orphan("b"), *others) as stage:
        await stage.until(3)
        first, second, made = await stage.names()
        assert (first, second) == ("a", "b")
        assert made.startswith("web-")
        assert [
            (await stage.pods.get(f"default/{name}")).metadata.controller for name in ("done", "stranger")
        ] == [
            None,
            None,
        ]


async def test_an_orphan_that_comes_later_is_adopted_and_one_too_many_goes() -> None:
    async with scene(replica_set(2)) as stage:
        await stage.until(2)
        for name in await stage.names():
            await stage.pods.status.patch(f"default/{name}", ready())
        await settle()
        await stage.cluster.create(orphan("late"))
        await settle()
        await stage.until(2)
        assert "late" not in await stage.names(), "it was the only one that was not ready"
        assert "late" not in [each.metadata.name for each in (await stage.pods.list()).items]


async def test_nothing_is_adopted_for_an_owner_that_is_going_which_the_cache_does_not_know() -> None:
    async with scene(replica_set(1)) as stage:
        await stage.until(1)

        async def silent(path: str) -> None:
            if path.endswith("/replicasets"):
                await anyio.sleep_forever()

        stage.line.watched = silent
        await stage.sets.delete(KEY, propagation="Orphan")
        await settle()
        await stage.cluster.create(orphan("late"))
        await stage.cluster.advance(20)
        assert await stage.owned() == []


async def test_no_other_pod_of_its_name_is_adopted_which_the_cache_does_not_know() -> None:
    async with scene(orphan("a")) as stage:

        async def silent(path: str) -> None:
            if path.endswith("/pods"):
                await anyio.sleep_forever()

        answers = list[int]()

        async def note(request: httpx.Request, send: Send) -> httpx.Response:
            answer = await send(request)
            if request.url.path.endswith("/pods/a"):
                answers.append(answer.status_code)
            return answer

        stage.line.watched, stage.line.before = silent, note
        await stage.pods.delete("default/a")
        await stage.cluster.create(orphan("a", app="db"), replica_set(1))
        await stage.cluster.advance(1)
        assert set(answers) == {409}


async def test_a_pod_that_gets_another_label_is_released_and_replaced() -> None:
    async with scene(replica_set(2)) as stage:
        await stage.until(2)
        name = (await stage.names())[0]
        await stage.pods.patch(f"default/{name}", {"metadata": {"labels": {"app": "debugging"}}})

        async def is_released() -> bool:
            return name not in await stage.names()

        await stage.cluster.until(is_released)
        await stage.until(2)
        released = await stage.pods.get(f"default/{name}")
        assert released.metadata.owner_references == ()
        await stage.pods.patch(f"default/{name}", {"metadata": {"labels": LABELS}})
        await settle()
        await stage.until(2)


async def test_pods_that_are_deleted_or_fail_are_replaced() -> None:
    async with scene(replica_set(2)) as stage:
        await stage.until(2)
        first, second = await stage.names()
        await stage.pods.delete(f"default/{first}")
        await stage.pods.status.patch(f"default/{second}", {"status": {"phase": "Failed"}})
        await settle()
        await stage.until(2)
        assert not {first, second} & set(await stage.names())


async def test_what_it_has_taken_away_is_made_again_at_once_even_where_deletions_failed() -> None:
    async with scene(replica_set(4)) as stage:
        await stage.until(4)
        failed = set[str]()

        async def fail_once(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method == "DELETE" and request.url.path not in failed:
                failed.add(request.url.path)
                return refusal(500, "InternalError")
            return await send(request)

        stage.line.before = fail_once
        await stage.scale(1)
        await stage.until(1, timeout=2)
        assert len(failed) == 3
        await stage.scale(4)
        await stage.until(4, timeout=2)


async def test_while_it_is_going_it_only_counts() -> None:
    held = replica_set(2)
    held["metadata"]["finalizers"] = ["example.dev/hold"]
    async with scene(held) as stage:
        await stage.until(2)
        await stage.sets.delete(KEY)
        await settle()
        await stage.pods.delete(f"default/{(await stage.names())[0]}")
        await stage.cluster.create(orphan("late"))
        await stage.until(1)
        await stage.cluster.advance(10)
        await stage.until(1)
        assert (await stage.pods.get("default/late")).metadata.controller is None


async def test_the_status_of_another_one_of_its_name_is_left_alone() -> None:
    async with scene(replica_set(2)) as stage:
        await stage.until(2)
        refused = list[str]()

        async def silent(path: str) -> None:
            if path.endswith("/replicasets"):
                await anyio.sleep_forever()

        async def refuse(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method != "POST":
                return await send(request)
            refused.append(request.url.path)
            return refusal(500, "InternalError")

        stage.line.watched, stage.line.before = silent, refuse
        await stage.sets.delete(KEY)
        await stage.sets.create(replica_set(2))
        await stage.cluster.advance(1)
        assert refused, "it makes up for the pods that went with the one that it knows"
        assert await stage.status() == {}


async def test_pods_are_made_in_batches_that_double() -> None:
    async with scene(replica_set(0)) as stage:
        moments = Counter[float]()

        async def slow(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method == "POST":
                moments[stage.clock.monotonic()] += 1
                await stage.clock.sleep(1)
            return await send(request)

        stage.line.before = slow
        await stage.scale(10)
        await stage.until(10)
        assert [moments[moment] for moment in sorted(moments)] == [1, 2, 4, 3]


async def test_a_quota_stops_the_batch_and_is_reported_until_it_is_lifted() -> None:
    async with scene(replica_set(0)) as stage:
        room, tried = [3], list[float]()

        async def quota(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method != "POST":
                return await send(request)
            tried.append(stage.clock.monotonic())
            if not room[0]:
                return refusal(403, "Forbidden", "pods is forbidden: exceeded quota")
            room[0] -= 1
            return await send(request)

        stage.line.before = quota
        await stage.scale(100)
        await settle()
        assert 1 + 2 + 4 <= len(tried) <= 1 + 2 + 4 + 4, (
            "of a hundred; each event of its own writes costs one more"
        )
        await stage.until(3)
        status = await stage.status()
        reason, message = condition(dict(status))
        assert reason == "FailedCreate"
        assert "pods is forbidden: exceeded quota (403 Forbidden)" in message
        assert status["observedGeneration"] == 2
        before = len(tried)
        await stage.cluster.advance(30)
        assert before < len(tried) < before + 12, "it tries again, ever more seldom"
        assert await stage.status() == status, "and writes nothing new"
        room[0] = 1000
        await stage.until(100, timeout=400)
        assert condition(dict(await stage.status())) == ("", "")


async def test_the_status_follows_the_pods() -> None:
    async with scene(replica_set(2, minReadySeconds=10)) as stage:
        await stage.until(2)
        assert dict(await stage.status()) == {
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "observedGeneration": 1,
        }
        first, second = await stage.names()
        since = stage.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await stage.pods.status.patch(f"default/{first}", ready(since))
        await settle()
        assert (await stage.status())["readyReplicas"] == 1
        await stage.pods.status.patch(f"default/{second}", ready(since))
        await stage.cluster.advance(8.9)
        assert "availableReplicas" not in await stage.status()
        await stage.cluster.advance(1.1)
        assert dict(await stage.status()) == {
            "replicas": 2,
            "fullyLabeledReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "observedGeneration": 1,
        }
        await stage.scale(1)
        await stage.until(1)
        assert (await stage.status())["observedGeneration"] == 2


async def test_it_comes_to_rest() -> None:
    async with scene(replica_set(3), orphan("a")) as stage:
        await stage.until(3)
        await settle()
        requests = list[str]()

        async def note(request: httpx.Request, send: Send) -> httpx.Response:
            requests.append(request.method)
            return await send(request)

        stage.line.before = note
        await stage.cluster.advance(1000)
        assert not {*requests} & {"POST", "PATCH", "DELETE"}


async def test_deleted_in_the_foreground_it_makes_no_pods_any_more() -> None:
    async with scene(replica_set(3)) as stage:
        await stage.until(3)
        await stage.sets.delete(KEY, propagation="Foreground")

        async def is_gone() -> bool:
            return not (await stage.sets.list()).items and not (await stage.pods.list()).items

        await stage.cluster.until(is_gone)
        await stage.cluster.advance(10)
        assert await is_gone()


async def test_deleted_as_orphaning_it_leaves_its_pods_and_the_next_one_adopts_them() -> None:
    async with scene(replica_set(3)) as stage:
        await stage.until(3)
        names = await stage.names()
        await stage.sets.delete(KEY, propagation="Orphan")

        async def is_gone() -> bool:
            return not (await stage.sets.list()).items

        await stage.cluster.until(is_gone)
        assert await stage.owned() == []
        assert not len(stage.example.expected)
        await stage.cluster.create(replica_set(3))
        await stage.until(3)
        assert await stage.names() == names


async def test_two_that_want_the_same_orphan_share_nothing() -> None:
    async with scene(replica_set(1), replica_set(1, "other"), orphan("a")) as stage:

        async def is_settled() -> bool:
            owners = [each.metadata.controller for each in await stage.owned()]
            return sorted(owner.name for owner in owners if owner) == ["other", "web"]

        await stage.cluster.until(is_settled)


@pytest.mark.parametrize("consistency", ["overlay", "none"])
async def test_a_silent_watch_makes_no_second_batch(consistency: Consistency) -> None:
    """Not for five minutes, though an overlay is given up after one."""
    async with scene(replica_set(0), consistency=consistency) as stage:
        made = list[float]()

        async def silent(path: str) -> None:
            if path.endswith("/pods"):
                await anyio.sleep_forever()

        async def note(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method == "POST":
                made.append(stage.clock.monotonic())
            return await send(request)

        stage.line.watched, stage.line.before = silent, note
        began = stage.clock.monotonic()
        await stage.scale(3)
        for _ in range(14):
            await stage.cluster.advance(5)
            await touch(stage)
        assert len(made) == 3
        assert made[-1] - began < 1
        await stage.cluster.advance(300)
        assert len(made) > 3, "or one lost event would stop it for good"


async def touch(stage: Scene) -> None:
    """Make it look again."""
    await stage.sets.patch(KEY, {"metadata": {"annotations": {"touched": str(stage.clock.monotonic())}}})


async def test_what_was_expected_of_a_batch_that_was_cut_short_is_forgotten() -> None:
    async with scene(replica_set(0)) as stage:
        entered = anyio.Event()

        async def stuck(request: httpx.Request, send: Send) -> httpx.Response:
            if request.method == "POST":
                entered.set()
                await anyio.sleep_forever()
            return await send(request)

        stage.line.before = stuck
        await stage.scale(5)
        await entered.wait()
        assert len(stage.example.expected) == 1
    assert len(stage.example.expected) == 0
