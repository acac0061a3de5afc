import math
from datetime import UTC, datetime, timedelta

from kinformer.controller._candidate import Candidate, Look, Release, Wait, Write
from kinformer.controller._lease import LeaseRecord
from kinformer.controller._moment import Moment

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(monotonic: float, wall: float | None = None) -> Moment:
    return Moment(monotonic, START + timedelta(seconds=monotonic if wall is None else wall))


def candidate() -> Candidate:
    return Candidate("me", duration=15.0, deadline=10.0)


def record(holder: str = "you", duration: float = 15.0, version: str = "1") -> LeaseRecord:
    return LeaseRecord(holder, duration, 0, version)


def leader() -> Candidate:
    mine = candidate()
    mine.saw(None, at(100))
    mine.wants()
    mine.wrote(record("me"), at(100))
    return mine


def test_it_looks_before_it_does_anything() -> None:
    assert candidate().next(0) == Look()


def test_where_there_is_no_lease_it_makes_one() -> None:
    mine = candidate()
    mine.saw(None, at(100))
    assert mine.next(100) == Write()


def test_it_waits_for_the_recorded_duration_after_it_first_saw_the_record() -> None:
    mine = candidate()
    mine.saw(record(duration=40), at(100))
    mine.saw(record(duration=40), at(130))
    assert mine.next(130) == Wait(10)
    assert mine.next(140) == Write()


def test_each_renewal_starts_the_wait_again() -> None:
    mine = candidate()
    mine.saw(record(version="1"), at(100))
    mine.saw(record(version="2"), at(114))
    assert mine.next(115) == Wait(14)


def test_a_lease_that_does_not_say_how_long_it_lasts_lasts_as_long_as_ours() -> None:
    mine = candidate()
    mine.saw(record(duration=0), at(100))
    assert mine.next(100) == Wait(15)


def test_a_lease_that_is_nobodys_may_be_taken_at_once() -> None:
    mine = candidate()
    mine.saw(record(holder=""), at(100))
    assert mine.next(100) == Write()


def test_a_lease_in_our_own_name_is_another_ones_until_we_have_held_it() -> None:
    mine = candidate()
    mine.saw(record(holder="me"), at(100))
    assert mine.next(100) == Wait(15)
    mine.saw(None, at(105))
    assert mine.next(105) == Wait(15)
    mine.saw(record(holder="me"), at(110))
    assert mine.next(125) == Write()
    assert not mine.leads(at(125)), "what was read proves nothing about when it was written"


def test_a_lease_in_our_own_name_that_we_hold_is_renewed_at_once() -> None:
    mine = leader()
    mine.wants()
    mine.saw(record(holder="me", version="2"), at(102))
    assert mine.next(102) == Write()


def test_what_the_server_has_refused_is_not_ours_to_release() -> None:
    mine = candidate()
    mine.saw(None, at(100))
    mine.wants()
    mine.refused()
    mine.saw(record(holder="me"), at(100))
    assert mine.next_release() is None
    mine = leader()
    mine.wants()
    mine.refused()
    mine.saw(record(holder="me"), at(101))
    assert mine.next_release() == Release()


def test_a_lease_that_is_deleted_under_its_leader_is_left_to_him_for_a_while() -> None:
    mine = candidate()
    mine.saw(record(), at(100))
    mine.saw(None, at(114))
    mine.saw(None, at(116))
    assert mine.next(116) == Wait(13)
    assert mine.next(129) == Write()


def test_a_leader_whose_lease_was_deleted_makes_it_again_at_once() -> None:
    mine = leader()
    mine.doubt()
    mine.saw(None, at(102))
    assert mine.next(102) == Write()
    assert mine.leads(at(102))


def test_a_term_counts_from_when_the_renewal_was_sent() -> None:
    mine = leader()
    assert mine.left(at(104)) == 6
    assert mine.left(at(104, wall=107)) == 3
    assert candidate().left(at(104)) == 0
    assert mine.leads(at(109.9))
    assert not mine.leads(at(110))


def test_a_machine_that_was_suspended_leads_no_more() -> None:
    assert not leader().leads(at(100.1, wall=130))


def test_a_clock_that_is_put_back_changes_nothing() -> None:
    assert leader().leads(at(109, wall=-5000))
    assert not leader().leads(at(111, wall=-5000))


def test_the_sight_of_another_holder_or_of_none_ends_a_term() -> None:
    for holder in ("you", ""):
        mine = leader()
        mine.saw(record(holder, version="2"), at(101))
        assert not mine.leads(at(101))
        assert mine.next(200) == Wait(math.inf), "this candidate has had its term"
