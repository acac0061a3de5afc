from collections.abc import Callable
from random import Random
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from kinformer.client import Client, is_deleted, retry_on_conflict, wait_for
from kinformer.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    KinformerError,
    NotFoundError,
)
from kinformer.meta import Object, Resource
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
WATCH = "GET /api/v1/namespaces/default/pods fieldSelector=metadata.name=web watch=true"


class Flaky:
    def __init__(self, *outcomes: Exception | str) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        found = self.outcomes.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


async def retried(flaky: Flaky, **options: Any) -> tuple[Any, float]:
    clock = FakeClock()
    found: list[Any] = []

    async def run() -> None:
        try:
            found.append(await retry_on_conflict(flaky, clock=clock, random=Random(1), **options))
        except ApiError as error:
            found.append(error)
        found.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await clock.advance(10.0)
    return found[0], found[1]


async def test_a_conflict_is_tried_again_after_a_moment() -> None:
    flaky = Flaky(ConflictError(409), ConflictError(409), "done")
    result, moment = await retried(flaky)
    assert (result, flaky.calls) == ("done", 3)
    assert 0.020 <= moment <= 0.022


async def test_the_last_conflict_is_raised() -> None:
    conflicts = [ConflictError(409, message=str(number)) for number in range(5)]
    flaky = Flaky(*conflicts)
    error, _ = await retried(flaky)
    assert error is conflicts[-1]
    assert flaky.calls == 5


@pytest.mark.parametrize("error", [NotFoundError(404), AlreadyExistsError(409)])
async def test_another_failure_is_raised_at_once(error: ApiError) -> None:
    flaky = Flaky(error, "done")
    assert (await retried(flaky))[0] is error
    assert flaky.calls == 1


async def test_the_number_of_attempts_and_the_delay_can_be_chosen() -> None:
    flaky = Flaky(*[ConflictError(409)] * 3)
    _, moment = await retried(flaky, attempts=3, delay=1.0)
    assert flaky.calls == 3
    assert 2.0 <= moment <= 2.2
    with pytest.raises(ValueError, match="attempts 0"):
        await retry_on_conflict(flaky, attempts=0)


async def test_waiting_for_the_next_attempt_can_be_cancelled() -> None:
    clock = FakeClock()
    flaky = Flaky(ConflictError(409), "done")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: retry_on_conflict(flaky, clock=clock))
        await settle()
        tasks.cancel_scope.cancel()
    assert clock.next_timer is None
    assert flaky.calls == 1


def pod(
    version: str = "1", ready: str | None = None, *, generation: int = 0, observed: int | None = None
) -> Any:
    meta = {"name": "web", "namespace": "default", "resourceVersion": version, "generation": generation}
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
    ) -> Any:
        async def wait() -> None:
            async with Client("http://server", transport=self.script, clock=self.clock) as client:
                try:
                    found = await wait_for(
                        client.resource(PODS, model), "default/web", claim, timeout=timeout
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
        await waiting.clock.advance(1.0)

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
        await waiting.clock.advance(2.0)
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


async def test_a_cancelled_wait_closes_its_watch(script: Any) -> None:
    script.answer(page(pod()))
    feed = script.stream()
    waiting = Waiting(script)
    assert await waiting.run("Ready", nothing) == "still waiting"
    assert feed.is_closed
    assert waiting.clock.next_timer is None
