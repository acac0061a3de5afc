"""No key is ever in two hands, whatever clocks, machines, connections and processes do; and each is somebody's in the end."""

import pytest

from tests.scenario.sharding_stage import KEYS, Stage


@pytest.mark.timeout(60)
async def test_no_key_is_in_two_hands_and_each_is_somebodys_in_the_end(seed: int) -> None:
    stage = Stage(seed)
    await stage.play()
    assert stage.begun > 4 * len(KEYS)
    assert stage.writes > 4 * len(KEYS)
