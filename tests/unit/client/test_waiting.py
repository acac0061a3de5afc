from collections.abc import Callable
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from kinformer.client import Client, is_deleted, wait_for
from kinformer.errors import (
    ForbiddenError,
    KinformerError,
)
from kinformer.meta import Object, Resource
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
WATCH = "GET /api/v1/namespaces/default/pods fieldSelector=metadata.name=web watch=true"


def pod(
    version: str = "1",
    ready: str | None = None,
    *,
    generation: int = 0,
    observed: int | None = None,
    uid: str = "u1",
) -> Any:
    meta = {
        "name": "web",
        "namespace": "default",
        "resourceVersion": version,
        "generation": generation,
        "uid": uid,
    }
    condition: dict[str, Any] = {"type": "Ready", "status": ready}
    if observed is not None:
        condition["observedGeneration"] = observed
    status = {"conditions": [condition] if ready else None}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "status": status}


def page(*items: Any, version: str = "1") -> Any:
    return {"kind": "PodList", "metadata": {"resourceVersion": version}, "items": list(items)}


def event(kind: str, obj: Any) -> dict[str, Any]:
    return {"type": kind, "object": obj}


class Waiting:
    """A wait that runs beside the test; ``found`` is its outcome and moment."""

    def __init__(self, script: Any) -> None:
        self.script = script
        self.clock = FakeClock()
        self.found: list[Any] = []

    async def run(
        self,
        claim: str | Callable[[Any], bool],
        script: Callable[[], Any],
        *,
        timeout: float = 60.0,
        model: Any = Object,
        uid: str = "",
    ) -> Any:
        async def wait() -> None:
            async with Client("http://server", transport=self.script, clock=self.clock) as client:
                try:
                    found = await wait_for(
                        client.resource(PODS, model), "default/web", claim, timeout=timeout, uid=uid
                    )
                except (KinformerError, TimeoutError) as error:
                    found = error
                self.found = [found, self.clock.monotonic()]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await settle()
            await script()
            await settle()
            tasks.cancel_scope.cancel()
        return self.found[0] if self.found else "still waiting"


async def nothing() -> None:
    """What happens where nothing happens."""


async def test_what_is_true_already_is_not_waited_for(script: Any) -> None:
    script.answer(page(pod(ready="True")))
    found = await Waiting(script).run("Ready", nothing)
    assert found.key.name == "web"
    assert script.asked == ["GET /api/v1/namespaces/default/pods fieldSelector=metadata.name=web"]


async def test_what_becomes_true_ends_the_wait(script: Any) -> None:
    script.answer(page(pod(ready="False"), version="5"))
    feed = script.stream()

    async def changes() -> None:
        feed.send(event("MODIFIED", pod("6", "False")), event("MODIFIED", pod("7", "True")))

    found = await Waiting(script).run("Ready", changes)
    assert found.metadata.resource_version == "7"
    assert script.asked[1].startswith(f"{WATCH} resourceVersion=5 allowWatchBookmarks=true timeoutSeconds=60")
    assert feed.is_closed


async def test_an_object_that_is_made_later_is_waited_for(script: Any) -> None:
    script.answer(page(version="5"))
    feed = script.stream()

    async def changes() -> None:
        feed.send(event("ADDED", pod("6", "True")))

    assert (await Waiting(script).run("Ready", changes)).metadata.resource_version == "6"


async def test_a_condition_of_an_older_generation_does_not_count(script: Any) -> None:
    script.answer(page(pod(ready="True", generation=2, observed=1)))
    feed = script.stream()
    waiting = Waiting(script)
    assert await waiting.run("Ready", nothing) == "still waiting"
    script.answer(page(pod(ready="True", generation=2, observed=2)))
    assert (await Waiting(script).run("Ready", nothing)).key.name == "web"
    assert feed.is_closed


async def test_deletion_can_be_waited_for(script: Any) -> None:
    script.answer(page(pod()))
    feed = script.stream()

    async def changes() -> None:
        feed.send(event("DELETED", pod("6")))

    assert await Waiting(script).run(is_deleted, changes) is None


async def test_a_claim_of_ones_own_sees_the_model(script: Any) -> None:
    class Meta(msgspec.Struct):
        generation: int

    class Pod(msgspec.Struct):
        metadata: Meta

    script.answer(page(pod(generation=3)))
    found = await Waiting(script).run(lambda obj: obj.metadata.generation == 3, nothing, model=Pod)
    assert found == Pod(Meta(3))


async def test_the_end_of_a_watch_is_survived_without_haste(script: Any) -> None:
    script.answer(page(pod(), version="5"))
    first, second = script.stream(), script.stream()
    waiting = Waiting(script)

    async def changes() -> None:
        bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "9"}}
        first.send(event("MODIFIED", pod("6")), event("BOOKMARK", bookmark), None)
        await settle()
        assert len(script.requests) == 2
        await waiting.clock.advance(1.0)
        second.send(event("MODIFIED", pod("10", "True")))

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "10"
    assert "resourceVersion=9" in script.asked[2]
    assert first.is_closed


async def test_a_forgotten_version_is_survived_by_a_new_list(script: Any) -> None:
    script.answer(page(pod(), version="5"))
    script.status(410, "Expired")
    script.answer(page(pod(), version="50"))
    feed = script.stream()
    script.answer(page(pod("70", "True"), version="70"))
    waiting = Waiting(script)

    async def changes() -> None:
        await waiting.clock.advance(1.0)
        feed.send(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
        await waiting.clock.advance(2.0)

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "70"
    assert len(script.requests) == 5


async def test_an_outage_is_survived(script: Any) -> None:
    script.fail(httpx.ConnectError("refused"))
    script.answer(b"", 503, {"Retry-After": "5"})
    script.answer(page(pod(), version="5"))
    feed = script.stream()
    script.fail(httpx.ConnectError("refused"))
    last = script.stream()
    waiting = Waiting(script)

    async def changes() -> None:
        await waiting.clock.advance(1.0)
        assert len(script.requests) == 2
        await waiting.clock.advance(5.0)
        feed.send(httpx.ReadError("reset"))
        await waiting.clock.advance(4.0 + 8.0)
        last.send(event("MODIFIED", pod("6", "True")))

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "6"


@pytest.mark.parametrize("where", ["list", "open", "stream"])
async def test_a_refusal_is_told_at_once(script: Any, where: str) -> None:
    if where != "list":
        script.answer(page(pod()))
    if where == "stream":
        script.stream().send(event("ERROR", {"kind": "Status", "code": 403, "reason": "Forbidden"}))
    else:
        script.status(403, "Forbidden")
    assert isinstance(await Waiting(script).run("Ready", nothing), ForbiddenError)


@pytest.mark.parametrize(
    ("answer", "claim", "seen"),
    [
        (page(pod("4", "False")), "Ready", "condition Ready did not come true within 10 s; last seen: version 4 with Ready=False"),
        (page(), "Ready", "last seen: no such object"),
        (page(pod("4")), is_deleted, "is_deleted did not come true within 10 s; last seen: version 4 with no conditions"),
        (None, "Ready", "last seen: nothing, since no list succeeded, and then: GET /api/v1"),
    ],
)  # fmt: skip
async def test_time_that_is_up_says_what_was_seen_last(
    script: Any, answer: Any, claim: Any, seen: str
) -> None:
    if answer is None:
        script.fail(httpx.ConnectError("refused"))
    else:
        script.answer(answer)
        script.stream()
    waiting = Waiting(script)

    async def time() -> None:
        await waiting.clock.advance(20.0)

    error = await waiting.run(claim, time, timeout=10.0)
    assert isinstance(error, TimeoutError)
    assert "Pod default/web: " in str(error)
    assert seen in str(error)
    assert waiting.found[1] == 10.0


async def test_an_object_that_was_replaced_unseen_was_deleted(script: Any) -> None:
    script.answer(page(pod(uid="u1"), version="5"))
    script.status(410, "Expired")
    script.answer(page(pod("70", uid="u2"), version="70"))
    waiting = Waiting(script)

    async def time() -> None:
        await waiting.clock.advance(1.0)

    assert await waiting.run(is_deleted, time) is None
    assert len(script.requests) == 3


async def test_an_object_that_was_replaced_unseen_is_waited_for_like_any_other(script: Any) -> None:
    script.answer(page(pod(uid="u1"), version="5"))
    script.status(410, "Expired")
    script.answer(page(pod("70", "True", uid="u2"), version="70"))
    waiting = Waiting(script)

    async def time() -> None:
        await waiting.clock.advance(1.0)

    assert (await waiting.run("Ready", time)).metadata.uid == "u2"


async def test_of_two_of_one_name_only_the_one_that_was_meant_counts(script: Any) -> None:
    script.answer(page(pod(ready="True", uid="u2")))
    assert await Waiting(script).run(is_deleted, nothing, uid="u1") is None
    script.answer(page(pod(ready="True", uid="u2")))
    script.stream()
    assert await Waiting(script).run("Ready", nothing, uid="u1") == "still waiting"
    script.answer(page(pod(ready="True", uid="u1")))
    assert (await Waiting(script).run("Ready", nothing, uid="u1")).metadata.uid == "u1"


async def test_a_state_that_does_not_fit_the_model_is_passed_over(script: Any) -> None:
    class Meta(msgspec.Struct):
        generation: int

    class Pod(msgspec.Struct):
        metadata: Meta
        spec: dict[str, str] = {}

    script.answer(page(pod("5", "True") | {"spec": 7}, version="5"))
    feed = script.stream()

    async def changes() -> None:
        feed.send(event("MODIFIED", pod("6", "True", generation=3) | {"spec": {}}))

    assert await Waiting(script).run("Ready", changes, model=Pod) == Pod(Meta(3))


async def test_a_state_that_does_not_fit_the_model_is_told_of_in_the_end(script: Any) -> None:
    class Pod(msgspec.Struct):
        spec: str

    script.answer(page(pod("5")))
    script.stream()
    waiting = Waiting(script)

    async def time() -> None:
        await waiting.clock.advance(20.0)

    error = await waiting.run(is_deleted, time, model=Pod, timeout=10.0)
    assert isinstance(error, TimeoutError)
    assert "last seen: version 5 with no conditions, and then: Pod default/web is no Pod" in str(error)


async def test_what_a_claim_raises_is_raised_and_the_watch_closed(script: Any) -> None:
    def claim(obj: Object | None) -> bool:
        return bool(obj is not None and obj["spec"]["replicas"])

    script.answer(page())
    feed = script.stream()
    feed.send(event("ADDED", pod("6")))
    async with Client("http://server", transport=script, clock=FakeClock()) as client:
        with pytest.raises(KeyError, match="spec"):
            await wait_for(client.resource(PODS), "default/web", claim, timeout=9.0)
    assert feed.is_closed


async def test_where_says_the_namespace_and_its_selectors_do_not_matter(script: Any) -> None:
    script.answer(page(pod(ready="True")))
    async with Client("http://server", transport=script, clock=FakeClock()) as client:
        pods = client.resource(PODS).where(namespace="default", labels="app=web", fields="spec.x=y")
        await wait_for(pods, "web", "Ready", timeout=9.0)
        with pytest.raises(ValueError, match="'web' does not fit pods"):
            await wait_for(client.resource(PODS), "web", "Ready", timeout=9.0)
    assert script.asked == ["GET /api/v1/namespaces/default/pods fieldSelector=metadata.name=web"]


EXPIRED = {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired"}


def refuse(script: Any) -> None:
    script.fail(httpx.ConnectError("refused"))


def fail(script: Any) -> None:
    script.status(500, "InternalError")


def throttle(script: Any) -> None:
    script.answer(b"", 429)


def babble(script: Any) -> None:
    script.answer(b"<html>")


def forget(script: Any) -> None:
    script.answer(page(pod()))
    script.answer(EXPIRED, 410)


def forget_in_the_stream(script: Any) -> None:
    script.answer(page(pod()))
    script.stream().send(event("ERROR", EXPIRED))


def hang_up(script: Any) -> None:
    script.stream().send(None)


def garble(script: Any) -> None:
    script.stream().send(b"garbage\n")


@pytest.mark.parametrize(
    "failure", [refuse, fail, throttle, babble, forget, forget_in_the_stream, hang_up, garble]
)
async def test_no_failure_makes_more_than_twelve_requests_in_a_minute(
    script: Any, failure: Callable[[Any], None]
) -> None:
    waiting = Waiting(script)
    if failure in {hang_up, garble}:
        script.answer(page(pod()))
    for _ in range(100):
        failure(script)

    async def time() -> None:
        await waiting.clock.advance(60.0)

    assert await waiting.run("Ready", time, timeout=600.0) == "still waiting"
    assert 5 <= len(script.requests) <= 12


@pytest.mark.parametrize("where", ["the list", "the opening of the watch", "the watch", "the pause"])
async def test_a_wait_can_be_cancelled_wherever_it_waits(script: Any, where: str) -> None:
    feed = None
    if where == "the pause":
        script.fail(httpx.ConnectError("refused"))
    elif where != "the list":
        script.answer(page(pod()))
    if where == "the watch":
        feed = script.stream()
    waiting = Waiting(script)
    assert await waiting.run("Ready", nothing) == "still waiting"
    assert waiting.clock.next_timer is None
    assert script.cancelled == (1 if where in {"the list", "the opening of the watch"} else 0)
    assert feed is None or feed.is_closed
