from datetime import UTC, datetime
from typing import Any

from kinformer.controller._lease import LEASES, released
from kinformer.controller._member import LABEL, MemberRecord, lease_of_member
from kinformer.controller._ring import Member
from kinformer.meta import Object, ObjectKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey("ops", "maps-a-1")


def stored(content: dict[str, Any], version: str = "7") -> Object:
    content["metadata"]["resourceVersion"] = version
    return Object.from_mapping(content, LEASES)


def written(
    lease: Object | None = None,
    finishing: frozenset[int] = frozenset({2, 0xAB << 56}),
    *,
    is_retiring: bool = False,
) -> Object:
    content = lease_of_member(
        lease,
        KEY,
        "maps",
        "a",
        members=["maps-b-2", "maps-a-1"],
        finishing=finishing,
        is_retiring=is_retiring,
        duration=15,
        now=NOW,
    )
    return stored(content)


def test_what_is_written_is_read_again() -> None:
    assert MemberRecord.of(written()) == MemberRecord(
        Member("maps-a-1", "a"), 15.0, "7", frozenset({"maps-a-1", "maps-b-2"}), frozenset({2, 0xAB << 56})
    )


def test_it_says_to_people_what_it_is() -> None:
    lease = written()
    assert lease.metadata.labels == {LABEL: "maps"}
    assert lease.metadata.annotations == {
        "kinformer.dev/members": "maps-a-1,maps-b-2",
        "kinformer.dev/finishing": "0000000000000002,ab00000000000000",
    }
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


def test_what_else_is_in_it_stays_and_what_was_finished_goes() -> None:
    content = written().thaw()
    content["metadata"]["labels"]["team"] = "web"
    content["metadata"]["annotations"]["note"] = "x"
    again = written(stored(content), frozenset())
    assert again.metadata.labels == {LABEL: "maps", "team": "web"}
    assert again.metadata.annotations["note"] == "x"
    assert MemberRecord.of(again).finishing == frozenset()


def test_who_retires_says_so() -> None:
    assert not MemberRecord.of(written()).is_retiring
    assert MemberRecord.of(written(written(), is_retiring=True)).is_retiring


def test_who_has_left_has_no_identity_any_more() -> None:
    record = MemberRecord.of(stored(released(written(), now=NOW)))
    assert record.member == Member("maps-a-1", "")


def test_what_is_missing_or_unreadable_counts_as_nothing() -> None:
    content: dict[str, Any] = {
        "metadata": {"name": "x", "annotations": {"kinformer.dev/finishing": "12,no,,"}},
        "spec": {"holderIdentity": "x"},
    }
    assert MemberRecord.of(stored(content)) == MemberRecord(
        Member("x", "x"), 0.0, "7", frozenset(), frozenset({0x12})
    )
