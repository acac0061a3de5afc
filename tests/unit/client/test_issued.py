from datetime import UTC, datetime, timedelta

import anyio
import pytest

from kinformer.client import Certificate
from kinformer.client._issued import IssuedCredentials
from kinformer.client._issuer import Issued
from kinformer.errors import ConfigError
from kinformer.testing import FakeClock, settle

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Office:
    """Issues numbered tokens, at once or when a test lets it."""

    def __init__(self, *, lasts: float | None = None) -> None:
        self.lasts = lasts
        self.clock = FakeClock(BEGIN)
        self.asked = 0
        self.cancelled = 0
        self.failure: ConfigError | None = None
        self.door = anyio.Event()
        self.door.set()

    async def issue(self) -> Issued:
        self.asked += 1
        number = self.asked
        try:
            await self.door.wait()
        except BaseException:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure
        expires = None if self.lasts is None else self.clock.now() + timedelta(seconds=self.lasts)
        return Issued(f"Bearer {number}", expires=expires)


async def test_what_was_issued_is_used_until_a_minute_before_its_end() -> None:
    office = Office(lasts=300)
    credentials = await IssuedCredentials.of(office, office.clock)
    await office.clock.advance(239)
    assert await credentials.authorization() == "Bearer 1"
    await office.clock.advance(1)
    assert await credentials.authorization() == "Bearer 2"
    assert office.asked == 2


async def test_what_does_not_say_when_it_ends_is_used_until_it_is_refused() -> None:
    office = Office()
    credentials = await IssuedCredentials.of(office, office.clock)
    await office.clock.advance(1e6)
    assert await credentials.authorization() == "Bearer 1"
    assert await credentials.authorization(rejected="Bearer 1") == "Bearer 2"


async def test_a_refusal_of_what_is_not_used_any_more_costs_nothing() -> None:
    office = Office()
    credentials = await IssuedCredentials.of(office, office.clock)
    await credentials.authorization(rejected="Bearer 1")
    assert await credentials.authorization(rejected="Bearer 1") == "Bearer 2"
    assert office.asked == 2


async def test_many_refusals_at_once_ask_once() -> None:
    office = Office()
    credentials = await IssuedCredentials.of(office, office.clock)
    office.door = anyio.Event()
    got: list[str] = []

    async def retry() -> None:
        got.append(await credentials.authorization(rejected="Bearer 1"))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(retry)
        await settle()
        assert (got, office.asked) == ([], 2)
        office.door.set()
    assert got == ["Bearer 2"] * 5
    assert office.asked == 2


async def test_while_somebody_asks_because_of_the_end_the_others_use_what_there_is() -> None:
    office = Office(lasts=60)
    credentials = await IssuedCredentials.of(office, office.clock)
    await office.clock.advance(60)
    office.door = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(credentials.authorization)
        await settle()
        assert await credentials.authorization() == "Bearer 1"
        office.door.set()
    assert await credentials.authorization() == "Bearer 2"


async def test_what_is_issued_half_dead_is_not_asked_for_more_than_once_a_minute() -> None:
    office = Office(lasts=-10)
    credentials = await IssuedCredentials.of(office, office.clock)
    for _ in range(10):
        await credentials.authorization()
        await office.clock.advance(30)
    assert office.asked == 5


async def test_a_failure_is_logged_and_leaves_the_old_ones(caplog: pytest.LogCaptureFixture) -> None:
    office = Office(lasts=60)
    credentials = await IssuedCredentials.of(office, office.clock)
    office.failure = ConfigError("the office is closed")
    await office.clock.advance(60)
    assert await credentials.authorization() == "Bearer 1"
    assert "could not be renewed: the office is closed" in caplog.text
    await office.clock.advance(59)
    assert await credentials.authorization() == "Bearer 1"
    assert office.asked == 2
    assert await credentials.authorization(rejected="Bearer 1") == "Bearer 1"
    assert office.asked == 3
    office.failure = None
    assert await credentials.authorization(rejected="Bearer 1") == "Bearer 4"


async def test_a_first_failure_is_the_callers() -> None:
    office = Office()
    office.failure = ConfigError("the office is closed")
    with pytest.raises(ConfigError, match="is closed"):
        await IssuedCredentials.of(office, office.clock)


async def test_cancelling_whoever_asks_leaves_the_asking_to_the_next() -> None:
    office = Office()
    credentials = await IssuedCredentials.of(office, office.clock)
    office.door = anyio.Event()
    got: list[str] = []

    async def retry(scope: anyio.CancelScope) -> None:
        with scope:
            got.append(await credentials.authorization(rejected="Bearer 1"))

    async with anyio.create_task_group() as tasks:
        first, second, third = (anyio.CancelScope() for _ in range(3))
        for scope in (first, second, third):
            tasks.start_soon(retry, scope)
        await settle()
        second.cancel()  # one that only waits
        first.cancel()  # the one that asks
        await settle()
        assert (office.asked, office.cancelled) == (3, 1)
        office.door.set()
    assert got == ["Bearer 3"]


async def test_a_certificate_without_a_token_is_renewed_by_a_refusal_too() -> None:
    class Notary(Office):
        async def issue(self) -> Issued:
            self.asked += 1
            return Issued(certificate=Certificate(f"chain {self.asked}", f"key {self.asked}"))

    notary = Notary()
    credentials = await IssuedCredentials.of(notary, notary.clock)
    assert await credentials.authorization() == ""
    assert credentials.certificate == Certificate("chain 1", "key 1")
    assert await credentials.authorization(rejected="") == ""
    assert credentials.certificate == Certificate("chain 2", "key 2")


async def test_nothing_of_it_is_shown() -> None:
    issued = Issued("Bearer hunter2", Certificate("chain", "hunter2"))
    credentials = IssuedCredentials(Office(), issued, FakeClock())
    assert "hunter2" not in repr(issued) + repr(credentials) + str(credentials)


async def test_the_zero_time_of_go_is_long_over() -> None:
    office = Office(lasts=0)
    office.clock = FakeClock(datetime(1, 1, 1, tzinfo=UTC))
    credentials = await IssuedCredentials.of(office, office.clock)
    await office.clock.advance(61)
    assert await credentials.authorization() == "Bearer 2"
