from datetime import UTC, datetime, timedelta

from kinformer.controller._member import MemberRecord
from kinformer.controller._membership import Admission, Membership
from kinformer.controller._moment import Moment
from kinformer.controller._ring import Member, Ring, point_of

START = datetime(2026, 1, 1, tzinfo=UTC)
ME = Member("me", "i")
POINTS = [point_of(str(number)) for number in range(50)]


def at(monotonic: float, wall: float | None = None) -> Moment:
    return Moment(monotonic, START + timedelta(seconds=monotonic if wall is None else wall))


def newcomer() -> Membership:
    return Membership(ME, duration=15.0, deadline=10.0)


def record(
    name: str = "you",
    *members: str,
    version: str = "1",
    finishing: frozenset[int] = frozenset(),
    identity: str | None = None,
    duration: float = 15.0,
) -> MemberRecord:
    who = Member(name, name if identity is None else identity)
    return MemberRecord(who, duration, version, frozenset(members), finishing)


MINE = record("me", identity="i")


def member(*others: MemberRecord) -> Membership:
    """Who has joined at 100, beside others that respect him."""
    membership = newcomer()
    membership.wants(at(100))
    membership.wrote(at(100), at(100))
    membership.saw([MINE, *others], at(100), at(100))
    assert joined(membership)
    return membership


def joined(membership: Membership) -> bool:
    return membership.is_joined


def writes(membership: Membership) -> bool:
    return membership.may_write


def ours(membership: Membership) -> int:
    return next(point for point in POINTS if membership.is_ours(point))


def names(membership: Membership) -> list[str]:
    return [member.name for member in membership.ring.members]


def test_where_nobody_is_it_joins_at_once() -> None:
    membership = newcomer()
    membership.saw([], at(100), at(100))
    assert writes(membership)
    membership.wants(at(100))
    membership.wrote(at(100), at(100.1))
    assert not joined(membership), "somebody may have come at the same time"
    membership.saw([MINE], at(100.1), at(100.2))
    assert joined(membership)
    assert membership.enter(POINTS[0]) is Admission.NOW


def test_a_newcomer_waits_until_each_that_it_finds_is_alive_or_gone() -> None:
    membership = newcomer()
    membership.saw([record("a"), record("b")], at(100), at(100))
    assert not writes(membership)
    membership.saw([record("a", version="2"), record("b")], at(114.9), at(114.9))
    assert not writes(membership)
    membership.saw([record("a", version="2"), record("b")], at(115), at(115))
    assert writes(membership)
    assert names(membership) == ["a", "me"]


def test_it_works_when_all_that_stand_beside_its_own_lease_respect_it_or_are_gone() -> None:
    membership = newcomer()
    membership.wants(at(100))
    membership.wrote(at(100), at(100))
    membership.saw([MINE, record("a"), record("b", "me")], at(101), at(101))
    assert not joined(membership)
    assert membership.enter(POINTS[0]) is Admission.ELSEWHERE
    membership.saw([MINE, record("a", "me", version="2"), record("b", "me")], at(102), at(102))
    assert joined(membership)


def test_only_those_who_stood_beside_it_first_are_waited_for() -> None:
    membership = newcomer()
    membership.saw([], at(100), at(100))
    membership.wants(at(100))
    membership.wrote(at(100), at(100))
    membership.saw([MINE, record("quick")], at(101), at(101))
    assert not joined(membership), "it came between the first look and our Lease"
    late = member()
    late.saw([MINE, record("later")], at(102), at(102))
    assert joined(late), "it finds us, so that it waits for us"
    assert names(late) == ["later", "me"]


def test_a_member_that_comes_gets_its_keys_at_once_and_what_runs_is_named() -> None:
    membership = member()
    other = Ring([ME, Member("you", "you")])
    theirs = next(point for point in POINTS if other.owner(point) == "you")
    assert membership.enter(theirs) is Admission.NOW
    assert membership.finishing == frozenset()
    membership.saw([MINE, record("you")], at(102), at(102))
    assert membership.enter(theirs) is Admission.ELSEWHERE
    assert membership.finishing == frozenset({theirs})
    membership.leave(theirs)
    assert membership.finishing == frozenset()


def test_a_key_that_runs_twice_is_finished_when_both_are() -> None:
    membership = member()
    other = Ring([ME, Member("you", "you")])
    theirs = next(point for point in POINTS if other.owner(point) == "you")
    for _ in range(2):
        membership.enter(theirs)
    membership.saw([MINE, record("you")], at(102), at(102))
    membership.leave(theirs)
    assert membership.finishing == frozenset({theirs})
    membership.leave(theirs)
    assert membership.finishing == frozenset()


def test_a_key_that_another_finishes_is_for_later() -> None:
    membership = member(record("you", "me"))
    mine = ours(membership)
    membership.saw([MINE, record("you", "me", version="2", finishing=frozenset({mine}))], at(102), at(102))
    assert membership.enter(mine) is Admission.LATER
    assert membership.finishing == frozenset()
    membership.saw([MINE, record("you", "me", version="3")], at(104), at(104))
    assert membership.enter(mine) is Admission.NOW


def test_a_lease_expires_when_it_is_seen_unchanged_after_its_own_duration() -> None:
    membership = member()
    old = record("you", "me", duration=40)
    membership.saw([MINE, old], at(100), at(101))
    membership.saw([MINE, old], at(140), at(160))
    assert names(membership) == ["me", "you"], "it may have been renewed after the server had looked at 140"
    membership.saw([MINE, old], at(141), at(160))
    assert names(membership) == ["me"]


def test_each_renewal_starts_the_time_again() -> None:
    membership = member()
    membership.saw([MINE, record(version="1")], at(100), at(100))
    membership.saw([MINE, record(version="2")], at(114), at(114))
    membership.saw([MINE, record(version="2")], at(128), at(128))
    assert names(membership) == ["me", "you"]


def test_a_lease_that_does_not_say_how_long_it_lasts_lasts_as_long_as_ours() -> None:
    membership = member()
    for moment, found in ((100, ["me", "you"]), (114.9, ["me", "you"]), (115, ["me"])):
        membership.saw([MINE, record(duration=0)], at(moment), at(moment))
        assert names(membership) == found


def test_who_has_left_is_gone_at_once() -> None:
    membership = member(record("you", "me"))
    membership.saw([MINE, record("you", version="2", identity="", duration=1)], at(102), at(102))
    assert names(membership) == ["me"]


def test_who_has_no_lease_any_more_gets_its_time_again() -> None:
    membership = member(record("you", "me"))
    membership.saw([MINE], at(114), at(114))
    membership.saw([MINE], at(116), at(116))
    assert names(membership) == ["me", "you"]
    membership.saw([MINE], at(129), at(129))
    assert names(membership) == ["me"]


def test_who_comes_again_after_that_is_seen_anew() -> None:
    membership = member(record("you", "me"))
    membership.saw([MINE], at(102), at(102))
    membership.saw([MINE, record("you", "me")], at(104), at(104))
    membership.saw([MINE, record("you", "me")], at(118), at(118))
    assert names(membership) == ["me", "you"]


def test_a_term_counts_from_when_the_renewal_was_sent() -> None:
    membership = newcomer()
    assert membership.left(at(100)) == 0
    membership.wants(at(100))
    membership.wrote(at(100), at(104))
    assert membership.left(at(104)) == 6
    assert membership.left(at(104, wall=107)) == 3
    membership.wrote(at(104), at(109))
    assert membership.left(at(109)) == 5
    assert membership.left(at(114)) == 0


def test_a_renewal_that_is_heard_of_after_the_term_has_ended_ends_it_for_good() -> None:
    membership = member()
    membership.wrote(at(109.9), at(110))
    assert membership.is_over
    assert membership.left(at(110)) == 0
    assert not writes(membership)


def test_a_first_write_that_took_long_counts_from_when_it_was_first_sent() -> None:
    membership = newcomer()
    membership.wants(at(100))  # nothing was heard of it
    membership.wants(at(108))
    membership.wrote(at(108), at(110))
    assert membership.is_over


def test_who_finds_its_own_lease_ended_is_over() -> None:
    for found in ([], [record("me", version="9", identity="")], [record("me", version="9", identity="evil")]):
        membership = member()
        membership.saw(found, at(101), at(101))
        assert membership.is_over
        assert membership.left(at(101)) == 0


def test_a_member_whose_lease_somebody_renames_keeps_its_place_on_the_ring() -> None:
    membership = member(record("you", "me", version="1"))
    before = membership.ring
    membership.saw([MINE, record("you", "me", version="2", identity="evil")], at(101), at(101))
    assert membership.ring is before
    membership.saw([MINE, record(version="3", identity="")], at(102), at(102))
    assert names(membership) == ["me"]
    membership.saw([MINE, record(version="4", identity="new")], at(103), at(103))
    assert membership.ring.members == (ME, Member("you", "new"))


def test_it_knows_for_whom_it_waits() -> None:
    def waits(membership: Membership) -> list[str]:
        return [each.member.name for each in membership.waits_for]

    membership = newcomer()
    membership.saw(
        [record("alive", version="1"), record("dead"), record("left", identity="")], at(100), at(100)
    )
    assert waits(membership) == ["alive", "dead"]
    membership.saw([record("alive", version="2"), record("dead")], at(102), at(102))
    assert waits(membership) == ["dead"]
    membership.saw([record("alive", version="3"), record("dead")], at(115), at(115))
    assert waits(membership) == []
    membership.wants(at(115))
    membership.wrote(at(115), at(115))
    membership.saw([MINE, record("alive", version="4")], at(116), at(116))
    assert waits(membership) == ["alive"]
    membership.saw([MINE, record("alive", "me", version="5")], at(118), at(118))
    assert waits(membership) == []


def test_who_has_never_found_its_own_lease_writes_it_again() -> None:
    membership = newcomer()
    membership.saw([], at(100), at(100))
    membership.wants(at(100))
    membership.saw([], at(102), at(102))
    assert not membership.is_over
    assert writes(membership)


def test_who_retires_takes_up_nothing_and_names_all_that_it_finishes() -> None:
    membership = member(record("you", "me"))
    mine = ours(membership)
    assert membership.enter(mine) is Admission.NOW
    assert membership.finishing == frozenset()
    membership.retire()
    assert membership.enter(mine) is Admission.ELSEWHERE
    assert membership.finishing == frozenset({mine})
    membership.saw([MINE, record("you", "me", version="2")], at(102), at(102))
    assert names(membership) == ["you"]


def test_of_who_retires_the_others_have_all_but_what_it_finishes() -> None:
    membership = member(record("you", "me"))
    theirs, other = [point for point in POINTS if not membership.is_ours(point)][:2]
    retiring = MemberRecord(
        Member("you", "you"), 15.0, "2", frozenset({"me"}), frozenset({theirs}), is_retiring=True
    )
    membership.saw([MINE, retiring], at(102), at(102))
    assert names(membership) == ["me"]
    assert membership.enter(theirs) is Admission.LATER
    assert membership.enter(other) is Admission.NOW


def test_litter_is_what_has_been_useless_for_twice_its_duration() -> None:
    membership = member()
    gone = record("gone", version="1", identity="", duration=1)
    dead = record("dead", version="1", duration=20)
    for moment, found in ((100, []), (129, []), (131, ["gone"]), (141, ["gone", "dead"])):
        membership.saw([MINE, gone, dead], at(moment), at(moment))
        assert membership.litter(at(moment)) == found


def test_who_was_gone_does_not_come_back_when_its_lease_is_removed() -> None:
    membership = member(record("you", "me"))
    for moment in (100, 115):
        membership.saw([MINE, record("you", "me")], at(moment), at(moment))
    assert names(membership) == ["me"]
    for moment in (130, 132):
        membership.saw([MINE], at(moment), at(moment))
        assert names(membership) == ["me"]
        assert membership.litter(at(moment)) == []


def test_what_is_removed_already_is_no_litter() -> None:
    membership = member(record("you", "me"))
    membership.saw([MINE], at(100), at(100))
    membership.saw([MINE], at(140), at(140))
    assert names(membership) == ["me"]
    assert membership.litter(at(140)) == []


def test_the_ring_is_another_one_only_when_somebody_comes_or_goes() -> None:
    membership = member(record("you", "me"))
    ring = membership.ring
    membership.saw([MINE, record("you", "me", version="2")], at(102), at(102))
    assert membership.ring is ring
    membership.saw([MINE, record("you", version="3", identity="")], at(104), at(104))
    assert membership.ring is not ring
