"""Snapshots and the demultiplexer of a cache against the list of all changes that ever were."""

from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kinformer.apiserver.storage import (
    Change,
    CompactedError,
    Demux,
    FutureRevisionError,
    InconsistentError,
    KeyRange,
    KeyValue,
    Snapshots,
    WatchResponse,
)
from kinformer.apiserver.storage._demux import LocalWatcher

KEYS = ("/a/1", "/a/2", "/a/3")
RANGES = (KeyRange.prefix("/a/"), KeyRange.key("/a/2"), KeyRange("/a/2", "/a/4"))
STEPS = (
    *("change", "change", "change", "change two", "delete", "two revisions", "gap", "progress", "nonsense"),
    *("watch", "watch", "read", "read", "read all", "resync", "resync", "ask", "give up", "begin again"),
)


@dataclass
class Follower:
    watcher: LocalWatcher
    keys: KeyRange
    start: int
    told: list[tuple[int, str]] = field(default_factory=list)
    known: int = 0


class CacheModel(RuleBasedStateMachine):
    """What is told and what can be read, with a window of five revisions."""

    @initialize(strict=st.booleans())
    def begin(self, strict: bool) -> None:
        self.strict = strict
        self.snapshots = Snapshots(5)
        self.demux = Demux(5, strict=strict)
        self.now = 1
        self.content: dict[str, KeyValue] = {}
        self.states: dict[int, dict[str, KeyValue]] = {}
        self.log: list[Change] = []
        self.followers: list[Follower] = []
        self.restart()

    def restart(self) -> None:
        self.snapshots.restore(self.content.values(), self.now)
        self.states = {self.now: dict(self.content)}
        self.demux.begin(self.now + 1)

    @rule(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 35)), min_size=5, max_size=25))
    def go_on(self, steps: list[tuple[str, int]]) -> None:
        for step, number in steps:
            key = KEYS[number % 3]
            match step:
                case "change":
                    self.tell([[key]])
                case "change two":
                    self.tell([[key, KEYS[(number + 1) % 3]]])
                case "two revisions":
                    self.tell([[key], [KEYS[(number + 1) % 3]]])
                case "delete":
                    self.tell([[f"-{key}"]] if key in self.content else [])
                case "gap":
                    self.now += number % 3
                case "progress":
                    self.now += number % 2
                    self.demux.progress(self.now)
                    self.snapshots.advance(self.now)
                    self.states[self.now] = dict(self.content)
                case "nonsense":
                    self.refuse(number)
                case "watch":
                    self.watch(RANGES[number % 3], (0, -2, -1, 1, 2, 4)[number % 6], 1 + number % 4)
                case "read":
                    self.read(self.followers[:1], 1)
                case "read all":
                    self.read(self.followers, 100)
                case "resync":
                    self.demux.resync()
                case "ask":
                    for one in self.followers[:2]:
                        self.demux.tell_progress(one.watcher)
                case "give up":
                    for one in self.followers[:1]:
                        self.demux.remove(one.watcher)
                    self.followers[:1] = []
                case _:
                    self.begin_again(is_seamless=number % 2 == 0)
        self.check()

    def tell(self, revisions: list[list[str]]) -> None:
        changes = []
        for keys in revisions:
            self.now += 1
            for key in keys:
                name = key.removeprefix("-")
                old = self.content.pop(name, None)
                if key == name:
                    created = old.create_revision if old else self.now
                    self.content[name] = KeyValue(name, b"", created, self.now, 1)
                changes.append(Change(self.now, name, self.content.get(name), old))
            self.states[self.now] = dict(self.content)
        if changes:
            self.snapshots.apply(changes)
            self.demux.broadcast(changes)
            self.log.extend(changes)

    def refuse(self, number: int) -> None:
        value = KeyValue("/a/1", b"", 1, 1, 1)
        for latest, take in (
            (self.snapshots.revision, self.snapshots.apply),
            (self.demux.latest, self.demux.broadcast),
        ):
            older, newer = (Change(at, "/a/1", value, None) for at in (latest - number % 2, latest + 1))
            for wrong in ([older], [newer, older]):
                if latest:
                    with pytest.raises(InconsistentError):
                        take(wrong)

    def watch(self, keys: KeyRange, back: int, capacity: int) -> None:
        if len(self.followers) >= 4:
            return
        start = max(1, self.now + 1 - back) if back else 0
        first = start or (self.demux.latest + 1 if self.demux.latest else self.demux.oldest)
        watcher = self.demux.register(keys, start, capacity=capacity, wake=lambda: None)
        self.followers.append(Follower(watcher, keys, first))

    def begin_again(self, *, is_seamless: bool) -> None:
        """The watch was lost, and everything was read again."""
        was_known = self.demux.latest
        self.now = self.now if is_seamless else self.now + 1
        is_kept = was_known == self.now
        self.restart()
        for one in self.followers:
            if not is_kept:
                assert one.watcher.is_over
        if not is_kept:
            self.followers = []

    def read(self, followers: list[Follower], most: int) -> None:
        for one in list(followers):
            for _ in range(most):
                if (response := one.watcher.take()) is None:
                    break
                self.hear(one, response)

    def hear(self, one: Follower, response: WatchResponse) -> None:
        if response.canceled:
            needed = one.told[-1][0] + 1 if one.told else one.start
            assert needed < response.compact_revision <= self.demux.oldest
            assert one.watcher.is_over
            assert one.watcher.take() is None
            self.followers.remove(one)
            return
        assert response.revision > one.known or not response.events
        one.told += [(event.revision, event.key) for event in response.events]
        one.known = response.revision
        assert one.told == self.wanted(one, response.revision)

    def wanted(self, one: Follower, revision: int) -> list[tuple[int, str]]:
        return [
            (change.revision, change.key)
            for change in self.log
            if one.start <= change.revision <= revision and change.key in one.keys
        ]

    def check(self) -> None:
        assert self.demux.active + self.demux.lagging <= len(self.followers)
        assert self.snapshots.oldest <= self.snapshots.revision
        assert len(self.snapshots._undo) < 5, "with the latest they are as many as the window"
        for revision in range(max(1, self.now - 7), self.now + 2):
            if revision > self.snapshots.revision:
                with pytest.raises(FutureRevisionError):
                    self.snapshots.range(RANGES[0], revision)
            elif revision < self.snapshots.oldest:
                with pytest.raises(CompactedError):
                    self.snapshots.range(RANGES[0], revision)
            else:
                content = self.states[max(at for at in self.states if at <= revision)]
                for keys in RANGES:
                    found = self.snapshots.range(keys, revision)
                    assert list(found.items) == [content[key] for key in sorted(content) if key in keys]

    def teardown(self) -> None:
        if not hasattr(self, "demux"):
            return
        for _ in range(20):
            self.demux.resync()
            self.read(self.followers, 100)
        for one in self.followers:
            if not one.watcher.is_over:
                assert one.told == self.wanted(one, self.now)
            self.demux.remove(one.watcher)
        assert (self.demux.active, self.demux.lagging) == (0, 0)


TestCache = CacheModel.TestCase
TestCache.settings = settings(max_examples=30, stateful_step_count=8, deadline=None)
