"""Tokens that other clients read once; named after public reports."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

import pytest

from kinformer.client import Config, TokenFile
from kinformer.testing import HOLD
from tests.scenario.peers_stage import URL, Answer, Stage, Step, added, alive, bookmark, refusal


def rotate(path: Path, token: str) -> None:
    """Replace the file in one step, as the kubelet does."""
    fresh = path.with_suffix(".new")
    fresh.write_text(token)
    fresh.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("old")
    return path


def remove(path: Path) -> None:
    """Take the file away, as between two mounts."""
    path.unlink()


SNAPSHOT: list[Step] = [added("a", 1), bookmark(10, ends=True)]


def stage_with(path: Path, streams: Iterable[Answer], watches: Iterable[Answer] = ()) -> Stage:
    return Stage(streams=streams, watches=watches, config=Config(URL, credentials=TokenFile(path)))


def tokens(stage: Stage) -> list[str]:
    return [request.authorization.removeprefix("Bearer ") for request in stage.server.requests]


async def test_a_rotated_token_disturbs_no_watch_and_is_used_by_the_next_request(path: Path) -> None:
    """Scenario 36: nolar/kopf#926, galaxyproject/galaxy#23187, kubernetes-client/python#741."""
    stage = stage_with(path, [[*SNAPSHOT, *alive(11)[:10]]], [alive(11)])
    async with stage.running(60.0):
        rotate(path, "new")
        await stage.clock.advance(200.0)
        assert tokens(stage) == ["old"]
        await stage.clock.advance(100.0)
        assert stage.asked == ["STREAM", "WATCH 11"]
        assert tokens(stage) == ["old", "new"]
        assert stage.hooks.failures == []


async def test_a_token_that_is_refused_is_read_anew_before_anybody_hears_of_it(path: Path) -> None:
    """Scenario 36: the file was rotated while the request was under way."""

    def answers() -> Iterator[Answer]:
        rotate(path, "new")
        yield refusal(401, "Unauthorized")
        yield [*SNAPSHOT, HOLD]

    stage = stage_with(path, answers())
    async with stage.running():
        assert tokens(stage) == ["old", "new"]
        assert stage.true() == {"Synced"}
        assert stage.hooks.failures == []


async def test_a_token_that_expires_without_a_successor_is_asked_for_until_there_is_one(path: Path) -> None:
    """Scenario 36, when the rotation is late: 401 for ever."""
    stage = stage_with(path, repeat(refusal(401, "Unauthorized")))
    async with stage.running(300.0):
        assert stage.true() == {"Forbidden"}
        assert stage.busiest_minute() <= 12
        rotate(path, "new")
        stage.server.answer("STREAM", [*SNAPSHOT, *alive(10)])
        await stage.clock.advance(61.0)
        assert stage.true() == {"Synced"}
        assert tokens(stage)[-1] == "new"


async def test_a_token_file_that_is_gone_for_a_while_costs_nothing(path: Path) -> None:
    """Scenario 36, between two tokens."""
    stage = stage_with(path, [[*SNAPSHOT, 30.0]], [[2.0], [HOLD]])
    async with stage.running(10.0):
        remove(path)
        await stage.clock.advance(21.0)
        rotate(path, "new")
        await stage.clock.advance(3.0)
        assert tokens(stage) == ["old", "old", "new"]
        assert stage.hooks.failures == []
