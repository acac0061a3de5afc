"""Candidates for one lease, against a server that is one variable: at no moment do two of them lead."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.controller._candidate import Candidate, Look, Release, Wait, Write
from kinformer.controller._lease import LeaseRecord
from kinformer.controller._moment import Moment

DURATION, DEADLINE = 15.0, 10.0
START = datetime(2026, 1, 1, tzinfo=UTC)
WHO = st.integers(0, 1)
RATES = (0.85, 1.2)
"""Local seconds in one of the world's: their ratio is a little less than that of the two durations."""

FATES = st.sampled_from(["heard", "heard", "heard", "unheard", "late", "lost"])


@dataclass
class Sent:
    """A write that is under way: who sent it, what it would store, over which version, and when it was sent."""

    who: int
    record: LeaseRecord
    over: str
    sent: Moment


class CandidateMachine(RuleBasedStateMachine):
    """Two candidates try, as their shell does. A write may be heard of, or not, or arrive late, or never."""

    @initialize(rates=st.permutations(RATES), offsets=st.tuples(*[st.integers(-99, 99)] * 2))
    def begin(self, rates: list[float], offsets: tuple[int, int]) -> None:
        self.rates, self.offsets = rates, offsets
        self.time = 0.0
        self.versions = 0
        self.stored: LeaseRecord | None = None
        self.candidates = [Candidate(f"c{who}", duration=DURATION, deadline=DEADLINE) for who in range(2)]
        self.late: list[Sent] = []
        self.has_been_late = False
        self.seen = [("", 0.0), ("", 0.0)]  # which version each has seen last, and since when
        self.has_held = [False, False]
        self.attempt(0, "heard", 0.0)
        self.attempt(1, "heard", 0.0)

    def now(self, who: int) -> Moment:
        local = self.offsets[who] + self.time * self.rates[who]
        return Moment(local, START + timedelta(seconds=local))

    @rule(
        after=st.sampled_from([0.5, 2.0, 8.0, 9.0, 12.0]),
        who=WHO,
        fate=FATES,
        takes=st.sampled_from([0.0, 0.0, 4.0]),
    )
    def go_on(self, after: float, who: int, fate: str, takes: float) -> None:
        self.time += after
        self.at_most_one_leads()
        self.attempt(who, fate, takes)

    def attempt(self, who: int, fate: str, takes: float) -> None:
        """One try: look where need be, and then write or wait."""
        candidate = self.candidates[who]
        if candidate.next(self.now(who).monotonic) == Wait(
            math.inf
        ):  # it has lost its lease: the next one stands
            assert not candidate.leads(self.now(who))
            candidate = self.candidates[who] = Candidate(f"c{who}", duration=DURATION, deadline=DEADLINE)
            self.seen[who] = ("", 0.0)
            self.has_held[who] = False
        if not candidate.leads(self.now(who)):
            candidate.doubt()
        action = candidate.next(self.now(who).monotonic)
        if isinstance(action, Look):
            self.look(who)
            action = candidate.next(self.now(who).monotonic)
        if action == Wait(math.inf):
            return
        if isinstance(action, Wait):
            assert 0 < action.seconds < DURATION + 0.001
            assert candidate.record is not None
            assert candidate.record.holder not in self.own_names(who), "nobody waits for himself"
            return
        assert isinstance(action, Write)
        if candidate.record is not None and candidate.record.holder not in self.own_names(who):
            assert self.now(who).monotonic - self.seen[who][1] > DURATION - 0.001, "it takes what may be held"
        sent = self.sent(who, LeaseRecord(candidate.identity, DURATION, 0, ""))
        candidate.wants()
        assert isinstance(candidate.next(self.now(who).monotonic), Look), "who knows what becomes of it"
        self.time += takes
        match fate:
            case "heard" | "unheard":
                stored = self.arrive(sent)
                if stored is None and fate == "heard":
                    candidate.refused()
                elif stored is not None and fate == "heard":
                    candidate.wrote(stored, sent.sent)
                    self.has_held[who] = True
            case "late":
                self.late.append(sent)
                self.has_been_late = True
            case _:
                pass

    @rule(who=WHO, fate=FATES)
    def give_back(self, who: int, fate: str) -> None:
        """Let go of the lease, if it is held."""
        candidate = self.candidates[who]
        action = candidate.next_release()
        if isinstance(action, Look):
            self.look(who)
            action = candidate.next_release()
        if action is None:
            assert not candidate.leads(self.now(who))
            if not self.has_been_late:  # else it is held until it expires
                assert self.stored is None or self.stored.holder != candidate.identity
            return
        assert isinstance(action, Release)
        assert self.stored is not None
        candidate.doubt()
        sent = self.sent(who, LeaseRecord("", 1.0, 0, ""))
        assert sent.over != self.stored.version or self.stored.holder == candidate.identity
        if fate == "heard" and self.arrive(sent) is not None:
            candidate.let_go()
            self.has_held[who] = False
            assert not candidate.leads(self.now(who))
            assert candidate.next_release() is None

    def look(self, who: int) -> None:
        self.candidates[who].saw(self.stored, self.now(who))
        version = "" if self.stored is None else self.stored.version
        if self.seen[who][0] != version:
            self.seen[who] = (version, self.now(who).monotonic)

    @precondition(lambda self: self.late)
    @rule()
    def arrive_late(self) -> None:
        self.arrive(self.late.pop(0))

    def sent(self, who: int, record: LeaseRecord) -> Sent:
        seen = self.candidates[who].record
        return Sent(who, record, "" if seen is None else seen.version, self.now(who))

    def arrive(self, sent: Sent) -> LeaseRecord | None:
        """Store what was sent, unless something else has been stored since."""
        if sent.over != ("" if self.stored is None else self.stored.version):
            return None
        if self.stored is not None and self.stored.holder != f"c{sent.who}":
            assert not self.leads(1 - sent.who), "it takes the lease of a leader"
        self.versions += 1
        self.stored = replace(sent.record, version=str(self.versions))
        return self.stored

    def own_names(self, who: int) -> set[str]:
        """Under which holders the lease is free to this candidate: its own name may be a namesake's until it has held it."""
        return {"", self.candidates[who].identity} if self.has_held[who] else {""}

    def leads(self, who: int) -> bool:
        return self.candidates[who].leads(self.now(who))

    @invariant()
    def at_most_one_leads(self) -> None:
        if hasattr(self, "candidates"):
            assert not (self.leads(0) and self.leads(1))

    @invariant()
    def nobody_leads_longer_than_the_deadline(self) -> None:
        for who, candidate in enumerate(getattr(self, "candidates", ())):
            left = candidate.left(self.now(who))
            assert 0 <= left <= DEADLINE
            assert candidate.leads(self.now(who)) == (left > 0)


TestCandidate = CandidateMachine.TestCase
TestCandidate.settings = settings(max_examples=40, stateful_step_count=30)
