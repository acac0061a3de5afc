"""History and content of the watch cache against a plain list of revisions, in which nothing is ever forgotten."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.apiserver.cacher import (
    FRESH,
    Attributes,
    CacheEvent,
    Content,
    Element,
    EvictedError,
    History,
    Replay,
)
from kinformer.apiserver.storage import CompactedError, FutureRevisionError, KeyRange, KeyValue

KEYS = [f"/{name}" for name in "abcde"]
ALL = KeyRange.prefix("/")
LOWEST, HIGHEST = 4, 20

State = dict[str, Element]


def read(value: KeyValue) -> Attributes:
    return Attributes({"key": value.key}, {"revision": str(value.mod_revision)})


class WatchCacheMachine(RuleBasedStateMachine):
    """Writes, progress, compactions, lists and time; every state of the past, and every replay, is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History(lowest=LOWEST, highest=HIGHEST)
        self.content = Content(self.history)
        self.now = 0.0
        self.state: State = {}
        self.states: dict[int, State] = {}
        """What was there at each revision since the list."""
        self.events: list[CacheEvent] = []
        self.compacted = 0
        self.trusted_from = 0
        self.replays: list[tuple[Replay, list[CacheEvent]]] = []

    @property
    def revision(self) -> int:
        return max(self.states)

    @initialize()
    def begin(self) -> None:
        self.relist(5, keep=True)

    @rule(ahead=st.integers(0, 3), keep=st.booleans())
    def relist(self, ahead: int, keep: bool) -> None:
        revision = max(self.states, default=0) + ahead
        self.state = {key: each for key, each in self.state.items() if keep}
        self.content.replace(self.state.values(), revision)
        self.states, self.events = {revision: dict(self.state)}, []
        for replay, left in self.replays:
            if left:
                with pytest.raises(EvictedError):
                    replay.take()
        self.replays = []

    @rule(ahead=st.integers(1, 3), changes=st.dictionaries(st.sampled_from(KEYS), st.booleans(), max_size=3))
    def write(self, ahead: int, changes: dict[str, bool]) -> None:
        """One transaction: several keys, each put or deleted."""
        revision = self.revision + ahead
        for key, is_put in changes.items():
            before = self.state.pop(key, None)
            if is_put:
                self.state[key] = Element(KeyValue(key, b"", revision, revision, 1), read)
            elif before is None:
                continue
            event = CacheEvent.of(revision, key, self.state.get(key), before, time=self.now)
            self.content.apply(event)
            self.events.append(event)
        self.content.advance(revision)
        for passed in range(self.revision + 1, revision):
            self.states[passed] = self.states[passed - 1]
        self.states[revision] = dict(self.state)

    @rule(seconds=st.sampled_from([1.0, FRESH / 2, FRESH + 1]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(back=st.integers(0, 6))
    def compact(self, back: int) -> None:
        self.compacted = max(self.compacted, self.revision - back)
        self.content.forget(self.revision - back)

    @rule()
    def distrust_and_trust(self) -> None:
        self.content.distrust()
        assert not self.content.has(self.revision)
        self.content.trust()
        self.trusted_from = self.revision + 1

    @precondition(lambda self: len(self.replays) < 3)
    @rule(back=st.integers(-1, 30))
    def replay(self, back: int) -> None:
        revision = self.revision - back
        expected = [event for event in self.events if event.revision > revision]
        if len(expected) <= len(self.history) and revision >= min(self.states):
            self.replays.append((self.history.since(revision), expected))
            return
        with pytest.raises(CompactedError) as caught:
            self.history.since(revision)
        assert caught.value.compacted == self.history.oldest

    @precondition(lambda self: self.replays)
    @rule(data=st.data(), most=st.integers(1, 4))
    def take(self, data: st.DataObject, most: int) -> None:
        replay, left = data.draw(st.sampled_from(self.replays))
        assert len(replay) == len(left)
        is_kept = not left or any(event is left[0] for event in self.kept())
        if is_kept:
            assert list(replay.take(most)) == left[:most]
            del left[:most]
        else:
            with pytest.raises(EvictedError):
                replay.take(most)

    @invariant()
    def the_ring_holds_the_last_events(self) -> None:
        if not self.states:
            return
        assert len(self.history) <= self.history.capacity
        assert LOWEST <= self.history.capacity <= HIGHEST
        assert list(reversed(list(self.history.backwards(0)))) == self.kept()
        assert self.history.end - self.history.start == len(self.history)

    @invariant()
    def every_state_that_can_be_read_is_the_one_that_was(self) -> None:
        states = list(self.states.items())
        for revision, state in {**dict(states[:3]), **dict(states[-8:])}.items():
            if self.content.has(revision):
                snapshot = self.content.read(ALL, revision)
                assert list(snapshot) == [state[key] for key in sorted(state)]
                assert len(snapshot) == len(state)
                part = KeyRange("/b", "/d")
                inside = [state[key] for key in sorted(state) if key in part]
                assert list(self.content.read(part, revision)) == inside
            else:
                assert self.is_gone(revision)
                with pytest.raises(CompactedError):
                    self.content.read(ALL, revision)
        if self.states:
            assert list(self.content.read(ALL)) == [self.state[key] for key in sorted(self.state)]
            assert {each.labels["key"] for each in self.content.read(ALL)} == set(self.state)
            assert all(self.content.get(key) is self.state.get(key) for key in KEYS)
            with pytest.raises(FutureRevisionError):
                self.content.read(ALL, self.revision + 1)

    def is_gone(self, revision: int) -> bool:
        """Whether there is a reason why a state cannot be read."""
        was_full = len(self.events) >= LOWEST and revision < self.events[-LOWEST].revision
        return was_full or revision < max(self.compacted, self.trusted_from)

    def kept(self) -> list[CacheEvent]:
        return self.events[len(self.events) - len(self.history) :]


TestWatchCache = WatchCacheMachine.TestCase
