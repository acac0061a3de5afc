"""What half an hour of each kind of failure costs, in each phase: at most 50 tries, and 12 requests in any minute.

client-go makes about 97 tries in such an outage, since it starts its backoff over every two minutes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from random import Random

import pytest

from kinformer.errors import (
    BadRequestError,
    DecodeError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
    UnauthorizedError,
)
from kinformer.meta import Resource
from kinformer.testing import (
    HOLD,
    After,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    error_event,
)
from tests.scenario.reflector_stage import (
    BROKEN,
    EMPTY,
    END,
    GONE,
    REFUSED,
    THROTTLED,
    Stage,
    busiest_minute,
    pod,
)

HALF_AN_HOUR = 1800.0
DEFINITIONS = Resource.builtin("CustomResourceDefinition")

REFUSALS: dict[str, RequestError] = {
    "refused": REFUSED,
    "lost": TransportError("reset"),
    "500": BROKEN,
    "503 with Retry-After": ServerError(503, "ServiceUnavailable", retry_after=1.0),
    "400": BadRequestError(400),
    "401": UnauthorizedError(401),
    "403": ForbiddenError(403),
    "404": NotFoundError(404),
    "410": GONE,
    "422": InvalidError(422),
    "429": THROTTLED,
    "429 with Retry-After": ThrottledError(429, retry_after=1.0),
    "no JSON": DecodeError("an answer that is no JSON"),
}
STREAMS: dict[str, Sequence[StreamStep]] = {
    "short watch": [],
    "short watch of 0.9 s": [0.9],
    "half-open": [bookmark("101"), HOLD],
    "reset after an event": [added(pod("a", "101")), TransportError("reset")],
    "garbage line": [error_event(DecodeError("no JSON"))],
    "foreign objects only": [error_event(DecodeError("a Secret", key="default/a"))],
    "older history": [bookmark("7")],
    **{f"{name} inside": [2.0, error_event(error)] for name, error in REFUSALS.items()},
}


@dataclass(frozen=True)
class Server:
    """How everything is answered, for ever. Without an answer to them, watch-lists are not asked for."""

    lists: ListAnswer = EMPTY
    watches: WatchAnswer = HOLD
    watch_lists: WatchAnswer | None = None

    def stage(self, random: Random) -> Stage:
        """A reflector of it, which could hear of a definition."""

        def watches() -> Iterator[WatchAnswer]:
            while True:
                is_watch_list = stage.source.requests[-1].initial_events
                yield self.watches if self.watch_lists is None or not is_watch_list else self.watch_lists

        stage = Stage(
            lists=repeat(self.lists),
            watches=watches(),
            watch_list=self.watch_lists is not None,
            definitions=ScriptedSource(DEFINITIONS, watches=repeat(HOLD), clock=FakeClock()),
            random=random,
        )
        return stage


def servers() -> Iterator[tuple[str, Server]]:
    for name, error in REFUSALS.items():
        late = After(30.0, error)
        yield f"{name} to a list", Server(error)
        yield f"{name} to a list after 30 s", Server(late)
        yield f"{name} to a watch", Server(watches=error)
        yield f"{name} to a watch after 30 s", Server(watches=late)
        yield f"{name} to a watch after a watch-list", Server(watches=error, watch_lists=[END])
        yield f"{name} to a watch-list and a list", Server(error, watch_lists=error)
        yield f"{name} to a watch-list and a watch", Server(watches=error, watch_lists=error)
        yield f"{name} to a watch-list and 500 to a list", Server(BROKEN, watch_lists=error)
    for name, steps in STREAMS.items():
        yield f"{name} in a watch", Server(watches=steps)
        yield f"{name} in a watch after a watch-list", Server(watches=steps, watch_lists=[END, *steps])
        begun = [added(pod("a", "1")), *steps]
        yield f"{name} in a watch-list before its end", Server(watches=steps, watch_lists=begun)
        yield f"{name} in a watch-list before its end and 500 to a list", Server(BROKEN, watch_lists=begun)


@pytest.mark.parametrize(("name", "server"), [pytest.param(*pair, id=pair[0]) for pair in servers()])
async def test_half_an_hour_of_any_failure_takes_few_tries_and_never_many_in_a_minute(
    name: str, server: Server
) -> None:
    stage = server.stage(Random(name))
    requests = await stage.play(HALF_AN_HOUR)
    tries = 1 + len(stage.hooks.failures)
    assert 10 <= tries <= 50
    assert len(requests) <= 3 * tries, "a refused watch-list, a list and a watch"
    assert busiest_minute(requests) <= 12


@pytest.mark.parametrize("chance", range(3))
@pytest.mark.parametrize("watch_lists", [None, [END, added(pod("a", "101"))]], ids=["list", "watch-list"])
async def test_a_server_that_ends_each_stream_after_one_event_is_asked_as_often_as_the_bucket_allows(
    watch_lists: WatchAnswer | None, chance: int
) -> None:
    stage = Server(watches=[added(pod("a", "101"))], watch_lists=watch_lists).stage(Random(chance))
    requests = await stage.play(HALF_AN_HOUR)
    assert busiest_minute(requests) <= 12
    assert 100 < len(requests) <= 6 + HALF_AN_HOUR / 10


async def test_a_kind_that_is_missing_where_definitions_are_not_shown_is_asked_for_six_times_a_minute() -> (
    None
):
    stage = Stage(lists=repeat(NotFoundError(404)))
    requests = await stage.play(HALF_AN_HOUR)
    assert 170 <= len(requests) <= 186
    assert busiest_minute(requests) <= 12
