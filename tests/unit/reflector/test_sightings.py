"""What a CustomResourceDefinition says about a kind, and when that is news."""

import pytest

from kinformer.meta import EventType, Object, Record, WatchEvent
from kinformer.reflector._sightings import Sighting, Sightings, serves
from kinformer.testing import added, bookmark, deleted, modified
from tests.unit.reflector.definitions import WEBSITES, definition


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (definition(), True),
        (definition(versions={"v1": True, "v2": True}), True),
        (definition(versions={"v2": True}), False),
        (definition(versions={"v1": False, "v2": True}), False),
        (definition(established="False"), False),
        (definition(established="Unknown"), False),
        (definition(status={}), False),
        (definition(status={"conditions": None}), False),
        (definition(status={"conditions": [{"type": "NamesAccepted", "status": "True"}]}), False),
        (definition(spec={}), False),
        (definition(spec="none"), False),
    ],
    ids=[
        "established",
        "one version of two",
        "another version",
        "a version that is not served",
        "not established",
        "nobody knows",
        "no status yet",
        "no conditions",
        "names only",
        "no versions",
        "no definition at all",
    ],
)
def test_a_kind_is_served_once_its_definition_is_established_in_its_version(
    found: Object, expected: bool
) -> None:
    assert serves(found.record, WEBSITES) is expected


def test_what_is_no_json_serves_nothing() -> None:
    record = definition().record
    assert not serves(Record(record.resource, record.key, record.metadata, b'{"spec":'), WEBSITES)


def test_a_definition_is_news_once() -> None:
    sightings = Sightings(WEBSITES)
    assert sightings.see(added(definition(established="False"))) is Sighting.ABSENT
    assert sightings.see(modified(definition())) is Sighting.NEWS
    assert sightings.see(modified(definition())) is Sighting.KNOWN
    assert sightings.see(added(definition())) is Sighting.KNOWN


@pytest.mark.parametrize(
    "between",
    [
        deleted(definition()),
        modified(definition(established="False")),
        modified(definition(versions={"v1": False})),
    ],
    ids=["deleted", "not established", "not served"],
)
def test_a_definition_that_was_gone_is_news_again(between: WatchEvent) -> None:
    sightings = Sightings(WEBSITES)
    assert sightings.see(added(definition())) is Sighting.NEWS
    assert sightings.see(between) is Sighting.ABSENT
    assert sightings.see(added(definition())) is Sighting.NEWS


def test_another_definition_of_the_same_name_is_news() -> None:
    sightings = Sightings(WEBSITES)
    sightings.see(added(definition()))
    assert sightings.see(added(definition(uid="u2"))) is Sighting.NEWS
    assert sightings.see(modified(definition(uid="u2", generation=2))) is Sighting.NEWS


def test_other_definitions_and_events_without_an_object_do_not_matter() -> None:
    sightings = Sightings(WEBSITES)
    for event in (
        added(definition(name="websites.example.com")),
        bookmark("9"),
        WatchEvent(EventType.ERROR),
    ):
        assert sightings.see(event) is Sighting.ABSENT
    assert sightings.see(added(definition())) is Sighting.NEWS
    sightings.see(deleted(definition(name="websites.example.com")))
    assert sightings.see(added(definition())) is Sighting.KNOWN
