"""The pump: from the queue to the store and to the listeners, in slices that hold nobody up."""

import logging
from collections.abc import Callable, Iterable
from itertools import pairwise

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.hooks import NoHooks
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._backlog import Backlog, Coalesced, InOrder
from kinformer.informer._handlers import calls_of
from kinformer.informer._listener import Listener
from kinformer.informer._pump import Pump
from kinformer.informer._views import Views
from kinformer.meta import Object, ObjectKey, Record
from kinformer.store import DeltaFIFO, DeltaQueue, InOrderFIFO, StoreWriter
from kinformer.testing import FakeClock, added, deleted, modified, settle
from tests.unit.informer.stage import pod, shown


def records(count: int, version: int) -> list[Record]:
    return [pod(f"{number:04}", version).record for number in range(count)]


class Witness:
    """A handler that keeps what it is told, replays it, and notes every nonsense."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.view: dict[ObjectKey, Object] = {}
        self.nonsense: list[str] = []

    def __call__(self, told: Notification[Object]) -> None:
        match told:
            case Added(obj, is_initial):
                self.told.append(f"{'find' if is_initial else 'add'} {shown(obj)}")
                if obj.key in self.view:
                    self.nonsense.append(f"{obj.key} twice")
                self.view[obj.key] = obj
            case Updated(old, new):
                self.told.append(f"update {shown(old)} to {shown(new)}")
                if self.view.get(new.key) != old:
                    self.nonsense.append(f"{old.key} from nowhere")
                self.view[new.key] = new
            case Deleted(obj):
                self.told.append(f"delete {shown(obj)}")
                if self.view.pop(obj.key, None) is None:
                    self.nonsense.append(f"{obj.key} gone twice")


class Bench:
    """A pump with everything around it, and what a reader saw at each of its pauses."""

    def __init__(
        self,
        queue: str = "delta",
        *,
        clock: FakeClock | None = None,
        admit: Callable[[Record], Record | None] = lambda record: record,
    ) -> None:
        self.clock = clock or FakeClock()
        self.writer = StoreWriter()
        self.queue: DeltaQueue = DeltaFIFO(self.writer.store) if queue == "delta" else InOrderFIFO()
        self.listeners: dict[str, Listener[Object]] = {}
        self.witnesses: dict[str, Witness] = {}
        self.pump = Pump(
            self.queue,
            self.writer,
            self.listeners.values(),
            admit=admit,
            name="pods",
            clock=self.clock,
        )

    def join(self, name: str, *, coalesce: bool = False) -> Witness:
        """Do as an informer does with a new handler, but for its task."""
        witness = self.witnesses[name] = Witness()
        backlog: Backlog = Coalesced() if coalesce else InOrder()
        listener = self.listeners[name] = Listener(
            name,
            calls_of(witness),
            backlog,
            Views(Object),
            informer="pods",
            clock=self.clock,
            hooks=NoHooks(),
        )
        if self.pump.is_filled:
            listener.begin(self.writer.store.content, self.clock.monotonic())
        if self.pump.is_synced:
            listener.source_synced()
        return witness

    async def tell(self) -> None:
        """Let every listener tell what it has."""
        async with anyio.create_task_group() as tasks:
            for listener in self.listeners.values():
                tasks.start_soon(listener.run)
            await settle()
            tasks.cancel_scope.cancel()

    async def pump_until(self, claim: Callable[[], bool]) -> None:
        """Pump, and stop at the first pause at which this is true."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.pump.run)
            while not claim():
                await checkpoint()
            tasks.cancel_scope.cancel()

    async def rest(self) -> None:
        """Pump until there is nothing left to do."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.pump.run)
            await settle()
            tasks.cancel_scope.cancel()

    def content(self) -> dict[str, str]:
        return {record.key.name: record.metadata.resource_version for record in self.writer.store}


@pytest.fixture(params=["delta", "in-order"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


async def watched(bench: Bench) -> list[tuple[int, str, bool, bool]]:
    """What a reader sees at each pause until the pump rests, without repeats."""
    seen: list[tuple[int, str, bool, bool]] = []

    async def look() -> None:
        while True:
            store = bench.writer.store
            found = (len(store), store.version, bench.pump.is_filled, bench.pump.is_synced)
            if seen[-1:] != [found]:
                seen.append(found)
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.pump.run)
        tasks.start_soon(look)
        for _ in range(1000):
            await checkpoint()
        tasks.cancel_scope.cancel()
    return seen


async def test_a_first_list_appears_at_once_and_the_informer_is_synced_when_all_buffers_have_it(
    bench: Bench,
) -> None:
    for name in ("one", "two"):
        bench.join(name)
    bench.queue.replace(records(500, 1), "9")
    assert await watched(bench) == [(0, "", False, False), (500, "9", True, False), (500, "9", True, True)]
    assert [listener.backlog for listener in bench.listeners.values()] == [500, 500]


async def test_a_relist_appears_at_once_while_the_loop_goes_on_turning(bench: Bench) -> None:
    bench.queue.replace(records(500, 1), "9")
    await bench.rest()
    witness = bench.join("early")
    bench.queue.replace(records(400, 2), "20")
    seen = await watched(bench)
    assert [(count, version) for count, version, _, _ in seen] == [(500, "9"), (400, "20")]
    await bench.tell()
    assert (len(witness.told), witness.nonsense) == (500 + 400 + 100, [])
    assert len(witness.view) == 400


async def test_what_comes_during_a_relist_waits_until_it_is_told(bench: Bench) -> None:
    bench.queue.replace(records(300, 1), "9")
    await bench.rest()
    witness = bench.join("early")
    bench.queue.replace(records(300, 2), "20")
    pauses: list[int] = []

    def claim() -> bool:
        pauses.append(len(pauses))
        if len(pauses) == 4:
            bench.queue.apply([modified(pod("0000", 30)), deleted(pod("0001", 31))], "31")
            bench.pump.wake()
        return bench.writer.store.version == "31"

    await bench.pump_until(claim)
    await bench.tell()
    assert witness.nonsense == []
    assert witness.told[-2:] == ["update 0000(2) to 0000(30)", "delete 0001(31)"]


@pytest.mark.parametrize("coalesce", [False, True], ids=["in order", "coalesced"])
@pytest.mark.parametrize("pause", range(30))
async def test_who_joins_at_any_pause_of_a_relist_misses_nothing_and_hears_nothing_twice(
    bench: Bench, pause: int, coalesce: bool
) -> None:
    early = bench.join("early")
    bench.queue.replace(records(200, 1), "9")
    await bench.rest()
    bench.queue.replace(records(100, 2), "20")
    bench.queue.apply([modified(pod("0000", 30)), added(pod("new", 31)), deleted(pod("0001", 32))], "32")
    pauses = 0
    late: Witness | None = None

    def claim() -> bool:
        nonlocal pauses, late
        pauses += 1
        if pauses == pause + 1:
            late = bench.join("late", coalesce=coalesce)
        return pauses > 40

    await bench.pump_until(claim)
    await bench.tell()
    assert late is not None
    expected = bench.content()
    assert len(expected) == 100
    for witness in (early, late):
        assert witness.nonsense == []
        assert {key.name: obj.metadata.resource_version for key, obj in witness.view.items()} == expected


@pytest.mark.parametrize("pause", range(20))
async def test_cancelled_at_any_pause_of_a_relist_it_leaves_the_old_content_or_the_new_one(
    bench: Bench, pause: int
) -> None:
    bench.queue.replace(records(200, 1), "9")
    await bench.rest()
    old = bench.content()
    bench.queue.replace(records(100, 2), "20")
    pauses = iter(range(pause, -1, -1))
    await bench.pump_until(lambda: next(pauses) == 0)
    new = dict.fromkeys(list(old)[:100], "2")
    found = (bench.content(), bench.writer.store.version)
    assert found in [(old, "9"), (new, "20")]


async def test_many_changes_are_taken_in_turns(bench: Bench) -> None:
    bench.queue.apply([added(pod(f"{number:04}", number)) for number in range(3000)], "3000")
    sizes: list[int] = []

    def claim() -> bool:
        sizes.append(len(bench.writer.store))
        return sizes[-1] == 3000

    await bench.pump_until(claim)
    assert max(later - earlier for earlier, later in pairwise(sizes)) <= 1000
    assert bench.writer.store.version == "3000"


async def test_a_bookmark_moves_the_version_and_nothing_else(bench: Bench) -> None:
    bench.queue.replace(records(1, 1), "9")
    await bench.rest()
    bench.queue.apply([], "12")
    bench.pump.wake()
    await bench.rest()
    assert bench.writer.store.version == "12"


async def test_a_resync_shows_everything_to_those_that_are_due_in_turns(bench: Bench) -> None:
    due, other = bench.join("due"), bench.join("other")
    bench.queue.replace(records(300, 1), "9")
    await bench.rest()
    await bench.tell()
    bench.queue.apply([modified(pod("0000", 2))], "10")
    bench.pump.resync([bench.listeners["due"]])
    lengths: list[int] = []

    def claim() -> bool:
        lengths.append(bench.listeners["due"].backlog)
        return lengths[-1] == 301

    await bench.pump_until(claim)
    assert len(set(lengths)) > 3
    await bench.tell()
    assert (due.nonsense, other.nonsense) == ([], [])
    assert due.told[300:302] == ["update 0000(1) to 0000(2)", "update 0000(2) to 0000(2)"]
    assert len(due.told) == 300 + 1 + 300
    assert len(other.told) == 300 + 1


async def test_who_was_removed_is_not_shown_anything_again(bench: Bench) -> None:
    witness = bench.join("due")
    bench.queue.replace(records(10, 1), "9")
    await bench.rest()
    listener = bench.listeners.pop("due")
    bench.pump.resync([listener])
    listener.close()
    await bench.rest()
    assert (listener.backlog, witness.told) == (0, [])
    assert len(bench.queue) == 0


async def test_nobody_due_means_no_resync(bench: Bench) -> None:
    bench.pump.resync([])
    assert len(bench.queue) == 0


async def test_there_is_room_again_when_the_queue_has_become_shorter(bench: Bench) -> None:
    bench.queue.apply([added(pod(str(number), number)) for number in range(10_000)], "1")
    story: list[str] = []

    async def wait() -> None:
        await bench.pump.wait_room()
        story.append("room")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await settle()
        assert story == []
        tasks.start_soon(bench.pump.run)
        await settle()
        assert story == ["room"]
        tasks.cancel_scope.cancel()


async def test_a_wait_for_room_can_be_cancelled(bench: Bench) -> None:
    bench.queue.apply([added(pod(str(number), number)) for number in range(10_000)], "1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.pump.wait_room)
        await settle()
        tasks.cancel_scope.cancel()
    assert len(bench.queue) == 10_000


class Dawdling(FakeClock):
    """A clock whose time passes in user code."""

    def spend(self, seconds: float) -> None:
        self._now += seconds


def slow(clock: Dawdling, seconds: float) -> Callable[[Record], Iterable[str]]:
    def index(record: Record) -> Iterable[str]:
        clock.spend(seconds)
        return ()

    return index


@pytest.mark.parametrize(
    ("seconds", "waiting", "is_traced"),
    [(0.2, 20, True), (0.2, 10, False), (0.05, 20, False)],
    ids=["slow and deep", "slow", "deep"],
)
async def test_a_change_that_holds_up_many_others_is_named(
    seconds: float, waiting: int, is_traced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Dawdling()
    bench = Bench(clock=clock)
    bench.writer.add_indexers({"slow": slow(clock, seconds)})
    bench.queue.apply([added(pod(str(number), number)) for number in range(waiting + 1)], "1")
    with caplog.at_level(logging.WARNING, "kinformer.informer"):
        await bench.rest()
    lines = [line.getMessage() for line in caplog.records]
    first = f"pods: default/0 took {seconds:.3f} s to get into the store, while {waiting} changes wait for it"
    assert (first in lines) == is_traced
    assert bool(lines) == is_traced


async def test_a_list_that_holds_up_many_changes_is_named(caplog: pytest.LogCaptureFixture) -> None:
    clock = Dawdling()

    def admit(record: Record) -> Record:
        clock.spend(0.15)
        return record

    bench = Bench(clock=clock, admit=admit)
    bench.queue.replace(records(1, 1), "9")
    bench.queue.apply([added(pod(f"x{number}", 10)) for number in range(11)], "10")
    with caplog.at_level(logging.WARNING, "kinformer.informer"):
        await bench.rest()
    assert [line.getMessage() for line in caplog.records] == [
        "pods: a part of a list took 0.150 s to get into the store, while 11 changes wait for it"
    ]
