"""Two leaders never overlap, whatever clocks, machines and connections do; ten schedules for each seed."""

import pytest

from tests.scenario.election_stage import Stage

SCHEDULES = 10


@pytest.mark.timeout(60)
async def test_two_leaders_never_overlap_and_somebody_leads_in_the_end(seed: int) -> None:
    terms = writes = 0
    for number in range(SCHEDULES):
        stage = Stage(SCHEDULES * seed + number)
        try:
            await stage.play()
        except BaseException as error:
            error.add_note(f"schedule {SCHEDULES * seed + number}")
            raise
        terms += len(stage.terms)
        writes += stage.writes
    assert terms > SCHEDULES
    assert writes > 10 * SCHEDULES


@pytest.mark.parametrize("number", [1732], ids=["suspended while the write that wins is under way"])
async def test_schedules_that_once_failed(number: int) -> None:
    await Stage(number).play()
