from typing import Any

import httpx
import msgspec
import pytest

from kinformer.client import Client, is_deleted, wait_for
from kinformer.errors import (
    ForbiddenError,
)
from kinformer.meta import Object
from kinformer.testing import FakeClock
from tests.unit.client.waiting_stage import PODS, WATCH, Waiting, event, nothing, page, pod


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


async def test_a_client_of_no_resource_is_refused() -> None:
    client: Any = Client("http://test")
    with pytest.raises(TypeError, match=r"write client.resource\(\.\.\.\)"):
        await wait_for(client, "default/web", "Ready", timeout=1.0)
