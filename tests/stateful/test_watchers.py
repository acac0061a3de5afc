"""Watchers and their streams against a plain list of revisions."""

from dataclasses import dataclass, field, replace

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kinformer.apiserver.storage import (
    NO_WATCH,
    Change,
    KeyRange,
    Mvcc,
    Watchers,
    WatcherStream,
    WatchRequest,
    WatchResponse,
)

KEYS = ("/a/1", "/a/2", "/b/1")
MANY = 1100
"""Revisions that need more than one batch."""

KINDS = (
    WatchRequest(KeyRange.prefix("")),
    WatchRequest(KeyRange.prefix("/a/"), prev_kv=True),
    WatchRequest(KeyRange.prefix("/a/"), no_put=True, progress_notify=True),
    WatchRequest(KeyRange.key("/b/1"), no_delete=True, prev_kv=True),
    WatchRequest(KeyRange.prefix(""), fragment=True, prev_kv=True, progress_notify=True),
)
STARTS = (None, -3, 0, 1, 2, 6, MANY)
"""How many revisions back a watch begins; ``None`` is now, and -3 is yet to come."""

STEPS = (
    *(
        "create",
        "create",
        "cancel",
        "put",
        "put",
        "put",
        "put more",
        "delete",
        "transact",
        "compact",
        "have a pass",
    ),
    *(
        "ask for progress",
        "ask in step",
        "ask in step",
        "report progress",
        "read",
        "read",
        "read",
        "read all",
    ),
)


@dataclass
class Follower:
    """A watch, and what its client knows."""

    request: WatchRequest
    start: int
    told: list[Change] = field(default_factory=list)
    at: int = 0
    """Which change of the log it is to be checked for next."""
    counted: int = 0
    has_begun: bool = False
    is_over: bool = False
    is_cut: bool = False
    """Whether the last response said that more of it follows."""


@dataclass
class Client:
    """A stream, and the watches on it by their ids."""

    stream: WatcherStream
    followers: dict[int, Follower] = field(default_factory=dict)
    waiting: list[Follower] = field(default_factory=list)


class WatchersModel(RuleBasedStateMachine):
    """Clients that read or do not read, while somebody writes, deletes and compacts."""

    @initialize(is_eager=st.booleans(), capacity=st.integers(1, 3), has_past=st.booleans())
    def begin(self, is_eager: bool, capacity: int, has_past: bool) -> None:
        self.core = Mvcc()
        self.watchers = Watchers(self.core, is_eager=is_eager)
        self.log: list[Change] = []
        self.changes: dict[tuple[int, str], Change] = {}
        self.clients = [
            Client(self.watchers.open(lambda: None, capacity=capacity, most_bytes=100)) for _ in range(2)
        ]
        for _ in range(MANY if has_past else 0):
            self.put("/a/1")

    @rule(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 34)), min_size=5, max_size=30))
    def go_on(self, steps: list[tuple[str, int]]) -> None:
        for step, number in steps:
            client = self.clients[number % 2]
            match step:
                case "create":
                    self.create(client, KINDS[number % 5], STARTS[number % 7])
                case "cancel":
                    self.cancel(client, number % 3)
                case "put":
                    self.put(KEYS[number % 3])
                case "put more":
                    for _ in range(number % 8):
                        self.put("/a/1")
                case "delete":
                    self.core.delete(KeyRange.key(KEYS[number % 3]))
                    self.commit()
                case "transact":
                    self.core.put("/b/1", b"")
                    self.core.delete(KeyRange.prefix("/a/"))
                    self.commit()
                case "compact":
                    if (revision := self.core.revision - number % 7) > self.core.compacted:
                        self.core.compact(revision)
                case "have a pass":
                    self.have_a_pass()
                case "ask for progress":
                    client.stream.request_progress()
                case "ask in step":
                    self.have_a_pass()
                    self.read(client, 100)
                    client.stream.request_progress()
                    self.read(client, 100)
                case "report progress":
                    client.stream.report_progress()
                case "read":
                    self.read(client, 1 + number % 3)
                case _:
                    self.read(client, 100)
            self.check()

    def create(self, client: Client, request: WatchRequest, back: int | None) -> None:
        now = self.core.revision
        start = 0 if back is None else max(1, now + 1 - back)
        request = replace(request, start_revision=start)
        client.stream.create(request)
        client.waiting.append(Follower(request, start or now + 1))

    def cancel(self, client: Client, number: int) -> None:
        if number in client.followers:
            client.stream.cancel(number)
            client.followers[number].is_over = True

    def put(self, key: str) -> None:
        self.core.put(key, b"some value")
        self.commit()

    def commit(self) -> None:
        if changes := self.core.commit():
            self.log.extend(changes)
            self.changes.update({(change.revision, change.key): change for change in changes})
            self.watchers.notify(changes)

    def have_a_pass(self) -> None:
        self.watchers.retry()
        self.watchers.catch_up()

    def read(self, client: Client, most: int) -> None:
        for _ in range(most):
            if (response := client.stream.take()) is None:
                return
            self.hear(client, response)

    def hear(self, client: Client, response: WatchResponse) -> None:
        if response.watch_id == NO_WATCH:
            assert response.is_progress
            for one in client.followers.values():
                if not one.is_over:
                    self.knows_all(one, response.revision)
                    assert one.request.start_revision <= response.revision
            return
        if response.created:
            assert not response.canceled
            follower = client.followers[response.watch_id] = client.waiting.pop(0)
            assert not follower.has_begun
            follower.has_begun = True
            return
        follower = client.followers[response.watch_id]
        if response.canceled:
            if response.compact_revision:
                assert response.revision == 0
                assert self.position(follower) < response.compact_revision <= self.core.compacted
                client.stream.cancel(response.watch_id)  # until then there is no progress for anybody
            follower.is_over = True
        elif response.is_progress:
            assert follower.request.progress_notify
            self.knows_all(follower, response.revision)
        else:
            self.hear_events(follower, response)

    def hear_events(self, follower: Follower, response: WatchResponse) -> None:
        last = follower.told[-1].revision if follower.told else 0
        if follower.told and not follower.is_cut:
            assert response.events[0].revision > last, "a revision is never split but by a fragment"
        follower.is_cut = response.fragment
        assert len({event.revision for event in response.events}) <= 1000
        assert response.revision >= response.events[-1].revision
        for event in response.events:
            known = self.changes[event.revision, event.key]
            assert event.current == known.current
            is_kept = follower.request.prev_kv and event.revision > self.core.compacted
            if is_kept or not follower.request.fragment:  # the later pieces were made with the first
                assert event.previous == (known.previous if is_kept else None)
        follower.told.extend(response.events)
        assert follower.request.fragment or not response.fragment
        if not response.fragment:
            self.knows_all(follower, response.events[-1].revision)

    def position(self, follower: Follower) -> int:
        return max([follower.start, *[event.revision + 1 for event in follower.told[-1:]]])

    def knows_all(self, follower: Follower, revision: int) -> None:
        """Whether it has been told everything up to a revision, and nothing else."""
        while follower.at < len(self.log) and self.log[follower.at].revision <= revision:
            change = self.log[follower.at]
            follower.at += 1
            if (
                follower.start <= change.revision
                and change.key in follower.request.keys
                and follower.request.wants(change)
            ):
                assert follower.counted < len(follower.told), f"it was never told of {change}"
                event = follower.told[follower.counted]
                assert (event.revision, event.key) == (change.revision, change.key)
                follower.counted += 1
        assert follower.counted == len(follower.told), f"told {follower.told[-1]}, for which it did not ask"

    def check(self) -> None:
        """A stream that holds nothing has nobody behind, where catching up is eager; and the places add up."""
        for client in self.clients:
            if self.watchers.is_eager and not client.stream.holds:
                assert not client.stream.late
        late = sum(len(client.stream.late) for client in self.clients)
        assert late == self.watchers.behind + self.watchers.blocked <= len(self.watchers)

    def teardown(self) -> None:
        if not hasattr(self, "clients"):
            return
        for client in self.clients:
            while not client.stream.is_exhausted:
                self.have_a_pass()
                self.read(client, 1)
            for one in client.followers.values():
                if not one.is_over:
                    self.knows_all(one, self.core.revision)
            client.stream.close()
        assert len(self.watchers) == 0


TestWatchers = WatchersModel.TestCase
TestWatchers.settings = settings(max_examples=30, stateful_step_count=8)
