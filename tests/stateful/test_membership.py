"""Members that share keys, against a server that is one mapping: at no moment do two of them work on one key."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.controller._member import MemberRecord
from kinformer.controller._membership import Admission, Membership
from kinformer.controller._moment import Moment
from kinformer.controller._ring import Member, point_of

DURATION, DEADLINE = 15.0, 10.0
START = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = 3
WHO = st.integers(0, COUNT - 1)
RATES = (0.85, 1.0, 1.2)
"""Local seconds in one of the world's: their ratio is a little less than that of the two durations."""
KEYS = [point_of(f"default/{number}") for number in range(4)]
TWICE = 2
"""How many controllers work on each key."""


@dataclass
class Player:
    """A replica: one member after the other, what it works on, and the answer that it waits for."""

    membership: Membership
    running: list[int] = field(default_factory=list)
    shown: list[MemberRecord] | None = None
    accepted: bool = False
    sent: Moment | None = None


@dataclass
class Sent:
    """A write under way, over the version that it was made from."""

    record: MemberRecord
    over: str


class MembershipMachine(RuleBasedStateMachine):
    """Each looks and writes as the shell does; answers may be heard late, and writes may arrive late, or never."""

    @initialize(
        rates=st.permutations(RATES), offsets=st.tuples(*[st.integers(-99, 99)] * COUNT), same=st.booleans()
    )
    def begin(self, rates: list[float], offsets: tuple[int, ...], same: bool) -> None:
        self.rates, self.offsets = rates, offsets
        self.time = 0.0
        self.versions = self.names = 0
        self.stored: dict[str, MemberRecord] = {}
        self.late: list[Sent] = []
        self.identities = ["i", "i", "j"] if same else ["a", "b", "c"]
        self.players = [Player(self.new(who)) for who in range(COUNT)]
        self.be_well([0, 1], 4)

    def new(self, who: int) -> Membership:
        self.names += 1
        member = Member(f"{self.identities[who]}-{self.names * 7 % 10}{self.names}", self.identities[who])
        return Membership(member, duration=DURATION, deadline=DEADLINE)

    def now(self, who: int) -> Moment:
        local = self.offsets[who] + self.time * self.rates[who]
        return Moment(local, START + timedelta(seconds=local))

    def works(self, who: int) -> bool:
        return self.players[who].membership.left(self.now(who)) > 0

    @rule(seconds=st.sampled_from([0.5, 3.0, 6.0]))
    def pass_time(self, seconds: float) -> None:
        """Who has no time left does not work any more."""
        self.time += seconds
        for who, player in enumerate(self.players):
            if not self.works(who):
                while player.running:
                    player.membership.leave(player.running.pop())

    @rule(who=st.sets(WHO, min_size=1, max_size=2), rounds=st.sampled_from([1, 3, 8]))
    def be_well(self, who: Iterable[int], rounds: int) -> None:
        """All goes well for some of them for a while, and others are not heard of."""
        for _ in range(rounds):
            self.pass_time(2.0)
            for each in who:
                self.attempt(each)
                self.take_all(each)

    @rule(who=WHO)
    def try_once(self, who: int) -> None:
        self.attempt(who)
        self.take_all(who)

    def attempt(self, who: int) -> None:
        """One try: look, and then write where one may."""
        self.hear(who)
        player = self.players[who]
        if player.membership.is_over:
            assert not self.works(who)
            player.membership, player.running = self.new(who), []
        for _ in range(2):
            if player.shown is None:
                self.look(who)
            self.hear(who)
            if not player.membership.may_write:
                return
            is_new = player.membership.member.name not in self.stored
            player.sent = self.now(who)
            player.accepted = self.arrive(self.letter(who))
            self.hear(who)
            if not is_new:
                return

    @rule(who=WHO)
    def look(self, who: int) -> None:
        """The server has answered; what it shows may be heard much later."""
        player = self.players[who]
        self.hear(who)
        player.sent, player.shown = self.now(who), list(self.stored.values())

    @rule(who=WHO, fate=st.sampled_from(["unheard", "heard later", "late"]))
    def write(self, who: int, fate: str) -> None:
        """After a look, send what is true now, and do not hear of it soon."""
        player = self.players[who]
        self.look(who)
        self.hear(who)
        if not player.membership.may_write:
            return
        sent, letter = self.now(who), self.letter(who)
        if fate == "late":
            self.late.append(letter)
        elif self.arrive(letter) and fate == "heard later":
            player.sent, player.accepted = sent, True

    def letter(self, who: int) -> Sent:
        membership = self.players[who].membership
        stored = self.stored.get(membership.member.name)
        names = frozenset(member.name for member in membership.ring.members)
        record = MemberRecord(
            membership.member, DURATION, "", names, membership.finishing, membership.is_retiring
        )
        membership.wants(self.now(who))
        return Sent(record, "" if stored is None else stored.version)

    def hear(self, who: int) -> None:
        """Whatever the server has answered meanwhile."""
        player = self.players[who]
        if player.sent is not None and player.shown is not None:
            player.membership.saw(player.shown, player.sent, self.now(who))
        elif player.sent is not None and player.accepted:
            player.membership.wrote(player.sent, self.now(who))
        player.sent, player.shown, player.accepted = None, None, False

    def arrive(self, sent: Sent) -> bool:
        """Store what was sent, unless something else has been stored since."""
        name, record = sent.record.member.name, sent.record
        stored = self.stored.get(name)
        if sent.over != ("" if stored is None else stored.version):
            return False
        self.versions += 1
        self.stored[name] = replace(record, version=str(self.versions))
        return True

    @precondition(lambda self: self.late)
    @rule()
    def arrive_late(self) -> None:
        self.arrive(self.late.pop(0))

    def take_all(self, who: int) -> None:
        """Everybody always works on whatever it may."""
        player = self.players[who]
        for key in KEYS:
            while (
                self.works(who)
                and player.running.count(key) < TWICE
                and player.membership.enter(key) is Admission.NOW
            ):
                player.running.append(key)
                self.no_key_is_in_two_hands()

    @rule(who=WHO, keys=st.sets(st.sampled_from(KEYS), min_size=1))
    def finish(self, who: int, keys: set[int]) -> None:
        player = self.players[who]
        for key in keys.intersection(player.running):
            player.running.remove(key)
            player.membership.leave(key)
        assert player.membership.finishing <= set(player.running)
        for each in range(COUNT):
            self.take_all(each)

    @rule(who=WHO)
    def retire(self, who: int) -> None:
        """Finish only; the others have all else."""
        self.players[who].membership.retire()
        self.try_once(who)

    @rule(who=WHO)
    def die(self, who: int) -> None:
        self.players[who] = Player(self.new(who))

    @rule(who=WHO)
    def go(self, who: int) -> None:
        """Finish, and say so."""
        name = self.players[who].membership.member.name
        self.players[who] = Player(self.new(who))
        if name in self.stored:
            self.versions += 1
            self.stored[name] = MemberRecord(Member(name, ""), 1.0, str(self.versions))

    @rule(who=WHO)
    def tidy(self, who: int) -> None:
        for name in self.players[who].membership.litter(self.now(who)):
            for other, player in enumerate(self.players):
                assert player.membership.member.name != name or not self.works(other), "somebody uses it"
            self.stored.pop(name, None)

    @rule(who=WHO)
    def remove_by_hand(self, who: int) -> None:
        """Its member hears of it later than those who know it. A newcomer that has not seen it could not know of it."""
        removed = self.players[who].membership
        name = removed.member.name
        known = [
            other
            for other, player in enumerate(self.players)
            if other != who
            and not player.membership.is_over
            and name in {member.name for member in player.membership.ring.members}
        ]
        if removed.is_joined and self.stored.pop(name, None) is not None:
            for other in known:
                self.attempt(other)
                self.take_all(other)
            self.attempt(who)
            assert removed.left(self.now(who)) == 0
            self.pass_time(0.0)

    @invariant()
    def no_key_is_in_two_hands(self) -> None:
        for key in KEYS:
            owners = [
                who
                for who, player in enumerate(getattr(self, "players", ()))
                if key in player.running and self.works(who)
            ]
            assert len(owners) <= 1, f"{owners} work on {key:x} at {self.time}"

    @invariant()
    def nobody_works_longer_than_the_deadline(self) -> None:
        for who, player in enumerate(getattr(self, "players", ())):
            assert 0 <= player.membership.left(self.now(who)) <= DEADLINE


TestMembership = MembershipMachine.TestCase
TestMembership.settings = settings(max_examples=30, stateful_step_count=40)
