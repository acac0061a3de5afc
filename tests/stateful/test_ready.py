"""Ready, against the plainest model that could be right: what is owed, and what is held."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.workqueue import Ready

KEYS = st.sampled_from("abcd")


class ReadyMachine(RuleBasedStateMachine):
    """The order is a plain list; a key is owed a run from its first add to its take."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = Ready[str]()
        self.queued: list[str] = []
        self.again: list[str] = []
        self.held: dict[str, float] = {}
        self.now = 0.0

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        is_news = key not in self.queued and key not in self.again
        assert self.ready.add(key) is is_news
        if is_news:
            (self.again if key in self.held else self.queued).append(key)

    @precondition(lambda self: self.queued)
    @rule()
    def take(self) -> None:
        self.now += 1.0
        key = self.ready.take(self.now)
        assert key not in self.held, "handed out twice"
        assert key == self.queued.pop(0)
        self.held[key] = self.now

    @precondition(lambda self: not self.queued)
    @rule()
    def take_from_nothing(self) -> None:
        try:
            key = self.ready.take()
        except LookupError:
            return
        raise AssertionError(f"{key} was handed out, and nobody had asked for it")

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        try:
            since = self.ready.done(key)
        except ValueError:
            assert key not in self.held
            return
        assert since == self.held.pop(key)
        if key in self.again:
            self.again.remove(key)
            self.queued.append(key)

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self) -> None:
        assert list(self.ready.order) == self.queued
        assert set(self.ready.order) == self.ready.dirty - set(self.ready.running)
        assert self.ready.running == self.held
        assert [key for key, _ in self.ready.waiting()] == self.queued
        assert [key for _, key in self.ready.heads()] == self.queued[:1]
        for key in "abcd":
            assert self.ready.wants(key) == (key in self.queued or key in self.again)
            assert (key in self.ready) == (key in self.queued or key in self.held)
        assert len(self.ready) == len(self.queued)
        assert self.ready.depth == len(self.queued) + len(self.again)
        assert self.ready.is_idle == (not self.queued and not self.again and not self.held)


TestReady = ReadyMachine.TestCase
