from hypothesis import given
from hypothesis import strategies as st

from kinformer.controller._ring import Member, Ring, point_of

MEMBERS = st.frozensets(
    st.sampled_from([Member(f"{name}{number}", name) for name in "abcd" for number in range(2)]), min_size=1
)
POINTS = st.integers(0, 2**64 - 1)


def test_a_point_is_the_same_everywhere() -> None:
    assert point_of("default/web") == 9977179762576191196


def test_nobody_has_the_keys_of_a_ring_without_members() -> None:
    assert Ring([]).owner(7) == ""


@given(members=MEMBERS, point=POINTS)
def test_each_key_belongs_to_somebody_who_is_there(members: frozenset[Member], point: int) -> None:
    assert Ring(members).owner(point) in {member.name for member in members}


@given(members=MEMBERS, others=MEMBERS, point=POINTS)
def test_of_two_members_the_same_one_has_a_key_in_each_ring_that_both_are_in(
    members: frozenset[Member], others: frozenset[Member], point: int
) -> None:
    owners = {Ring(members).owner(point), Ring(others).owner(point)}
    both = {member.name for member in members & others}
    assert len(owners) == 1 or not owners <= both


@given(members=MEMBERS, point=POINTS)
def test_who_goes_gives_only_what_was_his_and_who_comes_takes_only_for_himself(
    members: frozenset[Member], point: int
) -> None:
    newcomer = Member("e", "e")
    before, after = Ring(members).owner(point), Ring(members | {newcomer}).owner(point)
    assert after in {before, "e"}


def test_the_order_of_the_members_does_not_matter() -> None:
    members = [Member(name, name) for name in "abc"]
    assert Ring(members)._names == Ring(reversed(members))._names
    assert Ring(reversed(members)).members == tuple(members)


def test_all_have_about_as_many_keys() -> None:
    ring = Ring([Member(f"web-{number}-x", f"web-{number}") for number in range(5)])
    counts = [0] * 5
    for number in range(5000):
        counts[int(ring.owner(point_of(f"default/object-{number}"))[4])] += 1
    assert min(counts) > 700
    assert max(counts) < 1300


def test_of_two_of_one_identity_one_has_all_that_the_other_would_have() -> None:
    one, both = (
        Ring([Member("a-1", "a"), Member("b", "b")]),
        Ring([Member("a-1", "a"), Member("a-2", "a"), Member("b", "b")]),
    )
    points = [point_of(str(number)) for number in range(200)]
    assert [one.owner(point) for point in points] == [both.owner(point) for point in points]


def test_a_key_between_the_last_place_and_the_first_goes_round() -> None:
    ring = Ring([Member(name, name) for name in "abc"])
    assert ring.owner(2**64 - 1) == ring.owner(0)
    assert ring.owner(ring._points[0]) == ring._names[0]
