"""Trends against the whole history, of which the last 300 moments are looked at."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.hooks import ReconcileFinished, ReconcileResult
from kinformer.meta import ObjectKey
from kinformer.observe import Load
from kinformer.observe._tally import Tally
from kinformer.observe._trends import Trends

NAMES = ("a", "b")
KEY = ObjectKey("default", "x")
SECONDS = 2.0


class Watching(RuleBasedStateMachine):
    """Two controllers come and go, and work; often much time passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.trends = Trends(SECONDS)
        self.tally = Tally()
        self.moments: list[tuple[dict[str, Load], Counter[str], float]] = []
        self.done = Counter[str]()

    @rule(name=st.sampled_from(NAMES), result=st.sampled_from(ReconcileResult))
    def reconcile(self, name: str, result: ReconcileResult) -> None:
        self.tally.reconcile_finished(ReconcileFinished(name, KEY, result, 0.1))
        self.done[name] += 1

    @rule(
        names=st.sets(st.sampled_from(NAMES)),
        depth=st.integers(0, 9),
        lag=st.sampled_from([0.0, 0.5]),
        times=st.sampled_from([1, 1, 1, 2, 299]),
    )
    def pass_time(self, names: set[str], depth: int, lag: float, times: int) -> None:
        for _ in range(times):
            loads = {name: Load(depth, depth // 2) for name in sorted(names)}
            self.trends.add(loads, self.tally, lag)
            self.moments.append((loads, self.done.copy(), lag))

    @invariant()
    def the_last_moments_are_shown(self) -> None:
        shown = self.trends.shown()
        present = self.moments[-1][0] if self.moments else {}
        assert shown.depth.keys() == shown.active.keys() == shown.done.keys() == present.keys()
        assert list(shown.lag) == [lag for _, _, lag in self.moments][-300:]
        for name in present:
            since = (
                max((at for at, (loads, _, _) in enumerate(self.moments) if name not in loads), default=-1)
                + 1
            )
            own = self.moments[since:]
            assert list(shown.depth[name]) == [loads[name].depth for loads, _, _ in own][-300:]
            assert list(shown.active[name]) == [loads[name].active for loads, _, _ in own][-300:]
            before = [
                Counter[str]() if at == 0 else self.moments[at - 1][1]
                for at in range(since, len(self.moments))
            ]
            rates = [
                (done[name] - old[name]) / SECONDS for (_, done, _), old in zip(own, before, strict=True)
            ]
            assert list(shown.done[name]) == rates[-300:]


TestWatching = Watching.TestCase
TestWatching.settings = settings(max_examples=20, stateful_step_count=12)
