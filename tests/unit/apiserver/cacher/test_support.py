"""Whether the storage can say how far it has come."""

import pytest

from kinformer.apiserver.cacher import ProgressSupport
from kinformer.apiserver.storage import MemoryKV, UnavailableError
from kinformer.testing import FakeClock


class Server(MemoryKV):
    """A storage that gives the answers it is told to."""

    def __init__(self, *answers: bool | None) -> None:
        super().__init__()
        self.answers = list(answers)

    async def tells_progress(self) -> bool:
        answer = self.answers.pop(0)
        if answer is None:
            raise UnavailableError("cut")
        return answer


async def test_one_that_can_is_asked_once() -> None:
    support = ProgressSupport(Server(True), clock=FakeClock())
    assert [await support.is_there() for _ in range(3)] == [True] * 3


async def test_one_that_cannot_is_asked_again_after_ten_minutes() -> None:
    clock = FakeClock()
    support = ProgressSupport(Server(False, True), clock=clock)
    for _ in range(3):
        assert not await support.is_there()
    await clock.advance(599.0)
    assert not await support.is_there()
    await clock.advance(1.0)
    assert await support.is_there()


async def test_one_that_cannot_be_reached_counts_as_one_that_cannot_and_is_asked_again() -> None:
    support = ProgressSupport(Server(None, None, True), clock=FakeClock())
    assert [await support.is_there() for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("known", [True, False])
async def test_what_is_known_is_not_asked(known: bool) -> None:
    clock = FakeClock()
    support = ProgressSupport(Server(), clock=clock, known=known)
    await clock.advance(1e6)
    assert await support.is_there() is known
