"""The watch cache over a storage in memory, whatever happens to either: lists show what the storage shows.

Writes here and elsewhere, transactions, compactions, time, a cache that is held back or loses its watch; and every list
there is, compared with what the storage holds at the revision that the list says.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

import anyio
import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.apiserver.cacher import (
    LATEST_REVISION,
    Cached,
    CacheOptions,
    Cacher,
    Cachers,
    Delegator,
    Element,
    ListRequest,
    NotReadyError,
    Page,
    Position,
)
from kinformer.apiserver.storage import (
    CompactedError,
    Delete,
    FutureRevisionError,
    KeyRange,
    MemoryKV,
    Put,
    Transaction,
    UnavailableError,
)
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import PREFIX, labels_in_value

PODS = Cached("pods", "", "pods", PREFIX, labels_in_value)
ELSEWHERE = "/registry/core/configmaps/n/a"
KEYS = st.sampled_from([f"{PREFIX}{name}" for name in ("m/a", "n/a", "n/b", "n/c", "o/a")])
RANGES = st.sampled_from([PREFIX, f"{PREFIX}n/"])
COLORS = st.sampled_from(["red", "blue"])

T = TypeVar("T")


def is_red(element: Element) -> bool:
    return element.labels.get("color") == "red"


class CacherMachine(RuleBasedStateMachine):
    """Nothing waits in between but what a rule says, so that the cache may be anywhere behind the storage."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.kv = MemoryKV(history=1000, queue=2)
        self.cachers = Cachers(self.kv, clock=self.clock, options=CacheOptions(lowest=2, highest=8))
        self.delegator = Delegator(self.kv, self.cachers)
        self.task = self.runner.get_loop().create_task(self.cachers.run())
        self.pages: list[tuple[str, Page]] = []
        """Pages that are not the last of their list, with what their keys begin with."""
        self.is_paused = False
        self.run(self.begin())

    def run(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return self.runner.run(wait())

    async def begin(self) -> None:
        await settle()
        await self.cacher.begin()

    def teardown(self) -> None:
        self.task.cancel()
        self.run(settle())
        assert (self.kv.watches, self.clock.next_timer) == (0, None)
        self.runner.close()

    @property
    def cacher(self) -> Cacher:
        cacher = self.cachers.of(PODS)
        assert cacher is not None
        return cacher

    @rule(key=KEYS, color=COLORS)
    def put(self, key: str, color: str) -> None:
        self.run(self.kv.put(key, msgspec.json.encode({"color": color})))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.run(self.kv.delete(key))

    @rule(keys=st.dictionaries(KEYS, st.booleans(), max_size=3), color=COLORS)
    def transact(self, keys: dict[str, bool], color: str) -> None:
        value = msgspec.json.encode({"color": color})
        writes = [Put(key, value) if is_put else Delete(KeyRange.key(key)) for key, is_put in keys.items()]
        self.run(self.kv.transact(Transaction(then=writes)))

    @rule()
    def write_elsewhere(self) -> None:
        self.run(self.kv.put(ELSEWHERE, b""))

    @rule(back=st.integers(0, 4))
    def compact(self, back: int) -> None:
        with suppress(CompactedError):
            self.run(self.kv.compact(self.run(self.kv.revision()) - back))

    @rule()
    def rest(self) -> None:
        self.run(settle())

    @rule(seconds=st.sampled_from([0.2, 1.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.run(self.clock.advance(seconds))

    @rule()
    def pause_or_resume(self) -> None:
        self.is_paused = not self.is_paused
        (self.cacher.pause if self.is_paused else self.cacher.resume)()

    @rule()
    def lose_the_watch(self) -> None:
        self.run(self.lose())

    async def lose(self) -> None:
        self.cacher.break_watch(UnavailableError("cut"))

    @rule(
        prefix=RANGES,
        limit=st.integers(0, 3),
        with_selector=st.booleans(),
        exact=st.booleans(),
        back=st.integers(-1, 6),
    )
    def list_of_the_past(self, prefix: str, limit: int, with_selector: bool, exact: bool, back: int) -> None:
        revision = max(1, self.run(self.kv.revision()) - back)
        request = ListRequest(
            KeyRange.prefix(prefix),
            revision,
            "Exact" if exact else "NotOlderThan",
            limit,
            matches=is_red if with_selector else None,
        )
        page = self.list(prefix, request)
        if page is not None:
            assert page.revision == revision if exact else page.revision >= revision

    @rule(prefix=RANGES, limit=st.integers(0, 3), with_selector=st.booleans())
    def list_of_the_present(self, prefix: str, limit: int, with_selector: bool) -> None:
        now = self.run(self.kv.revision())
        request = ListRequest(KeyRange.prefix(prefix), limit=limit, matches=is_red if with_selector else None)
        page = self.list(prefix, request)
        assert page is None or page.revision >= now

    @rule(prefix=RANGES, limit=st.integers(0, 3))
    def list_whatever_is_there(self, prefix: str, limit: int) -> None:
        page = self.list(prefix, ListRequest(KeyRange.prefix(prefix), 0, limit=limit))
        assert page is None or page.start == ""

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), limit=st.integers(0, 3), is_inconsistent=st.booleans())
    def go_on(self, data: st.DataObject, limit: int, is_inconsistent: bool) -> None:
        prefix, before = data.draw(st.sampled_from(self.pages))
        revision = LATEST_REVISION if is_inconsistent else before.revision
        position = Position(revision, before.start.removeprefix(prefix))
        page = self.list(prefix, ListRequest(KeyRange.prefix(prefix), limit=limit, position=position))
        assert page is None or is_inconsistent or page.revision == before.revision

    def list(self, prefix: str, request: ListRequest) -> Page | None:
        """A list that is right, or ``None`` for one that was refused with a reason."""
        page = self.run(self.patiently(request))
        match page:
            case CompactedError():
                assert 0 < request.exact < self.run(self.oldest())
            case FutureRevisionError():
                assert page.revision > page.current
                assert self.is_paused or page.revision > self.run(self.kv.revision())
            case NotReadyError():
                assert not request.limit or request.matches is not None
            case _:
                assert isinstance(page, Page)
        if not isinstance(page, Page):
            return None
        self.run(self.check(request, page))
        if page.start and request.matches is None:
            self.pages.append((prefix, page))
        return page

    async def patiently(self, request: ListRequest) -> Page | Exception:
        """The answer, while time goes on."""
        answers: list[Page | Exception] = []

        async def ask() -> None:
            try:
                answers.append(await self.delegator.list(PODS, request))
            except (CompactedError, FutureRevisionError, NotReadyError) as error:
                answers.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await settle()
            while not answers:
                await self.clock.advance(0.5)
        return answers[0]

    async def oldest(self) -> int:
        """The first revision that the storage can show."""
        try:
            await self.kv.get(ELSEWHERE, revision=1)
        except CompactedError as error:
            return error.compacted
        return 1

    async def check(self, request: ListRequest, page: Page) -> None:
        """Whether a page is the piece of the storage's state that it should be."""
        if page.revision < await self.oldest():
            assert not request.exact
            return  # nobody can say: a list of whatever is there may be old
        found = await self.kv.range(request.rest, revision=page.revision)
        matching = [
            value
            for value in found.items
            if request.matches is None or request.matches(Element(value, PODS.read))
        ]
        expected = matching[: request.most or None]
        assert [element.value for element in page.items] == expected
        is_cut = len(expected) == request.most and bool(expected) and expected[-1] is not found.items[-1]
        assert page.start == (f"{expected[-1].key}\0" if is_cut else "")
        rest = len(found.items) - len(expected)
        assert page.remaining == (rest if is_cut and request.matches is None else None)

    @invariant()
    def it_holds_what_the_storage_held(self) -> None:
        cacher, oldest = self.cacher, self.run(self.oldest())
        assert cacher.revision <= self.run(self.kv.revision())
        if cacher.revision >= oldest:
            state = self.run(self.kv.range(KeyRange.prefix(PREFIX), revision=cacher.revision))
            shown = cacher.content.read(KeyRange.prefix(PREFIX))
            assert [element.value for element in shown] == list(state.items)


TestCacher = CacherMachine.TestCase
TestCacher.settings = settings(max_examples=20)
