from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.controller._event_series import EventSeries, EventWrite, Told, regarding_of
from kinformer.meta import Object, Resource

START = datetime(2026, 1, 1, tzinfo=UTC)
PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")


def told(note: str = "it runs", *, name: str = "web", reason: str = "Started", namespace: str = "ns") -> Told:
    regarding = (("kind", "Pod"), ("namespace", namespace), ("name", name), ("uid", name))
    return Told(regarding, (), "Normal", "Run", reason, note)


class Scene:
    def __init__(self) -> None:
        self.series = EventSeries("site", "host-1")
        self.number = 0

    def tell(self, one: Told, now: float = 0.0) -> bool:
        self.number += 1
        return self.series.tell(one, str(self.number), now, START + timedelta(seconds=now))

    def write(self) -> list[EventWrite]:
        writes = []
        while (write := self.series.next()) is not None:
            writes.append(write)
            self.series.succeeded(write)
        return writes


def test_the_first_is_written_as_a_whole() -> None:
    scene = Scene()
    assert scene.tell(told())
    (write,) = scene.write()
    assert write.is_new
    assert write.content == {
        "metadata": {"name": "web.1", "namespace": "ns"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "site",
        "reportingInstance": "host-1",
        "action": "Run",
        "reason": "Started",
        "regarding": {"kind": "Pod", "namespace": "ns", "name": "web", "uid": "web"},
        "note": "it runs",
        "type": "Normal",
    }


def test_the_same_again_counts_up_the_same_event() -> None:
    scene = Scene()
    scene.tell(told())
    scene.write()
    scene.tell(told(), 10)
    scene.tell(told(), 20)
    (write,) = scene.write()
    assert (write.is_new, write.key.name) == (False, "web.1")
    assert write.content == {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:00:20.000000Z"}}


def test_what_is_told_twice_before_it_is_written_is_one_event_with_a_series() -> None:
    scene = Scene()
    scene.tell(told())
    scene.tell(told(), 5)
    (write,) = scene.write()
    assert write.is_new
    assert write.content["series"]["count"] == 2


@pytest.mark.parametrize(
    "other", [told("it ran"), told(reason="Stopped"), told(name="db"), told(namespace="other")]
)
def test_something_else_is_another_event(other: Told) -> None:
    scene = Scene()
    scene.tell(told())
    scene.tell(other)
    assert [write.is_new for write in scene.write()] == [True, True]


def test_after_six_quiet_minutes_a_new_series_begins() -> None:
    scene = Scene()
    for now in (0, 360, 721):
        scene.tell(told(), now)
        scene.write()
    scene.tell(told(), 730)
    (write,) = scene.write()
    assert write.key.name == "web.3"
    assert write.content["series"]["count"] == 2


def test_the_tenth_note_of_one_reason_is_combined_with_those_that_follow() -> None:
    scene = Scene()
    for number in range(12):
        scene.tell(told(f"note {number}"))
    writes = scene.write()
    assert len(writes) == 10
    assert writes[-1].content["note"] == "(combined from similar events): note 11"
    assert writes[-1].content["series"]["count"] == 3
    scene.tell(told("note 12"))
    (write,) = scene.write()
    assert write.content["note"] == "(combined from similar events): note 12", "it tells the latest"


def test_after_ten_minutes_notes_are_told_apart_again() -> None:
    scene = Scene()
    for number in range(12):
        scene.tell(told(f"note {number}"))
    scene.write()
    scene.tell(told("note 12"), 601)
    assert [write.content["note"] for write in scene.write()] == ["note 12"]


def test_much_about_one_object_is_told_rarely_and_counted_nevertheless() -> None:
    scene = Scene()
    for _ in range(40):
        assert scene.tell(told())
        scene.write()
    assert scene.write() == []
    assert not scene.tell(told(reason="Other")), "there is no series to count it in"
    assert scene.tell(told(name="db")), "another object has a limit of its own"
    scene.write()
    assert scene.tell(told(), 301)
    assert [write.content["series"]["count"] for write in scene.write()] == [41]
    scene.tell(told(), 302)
    assert scene.write() == []
    scene.series.flush()
    assert [write.content["series"]["count"] for write in scene.write()] == [42]


def test_only_so_many_wait() -> None:
    scene = Scene()
    accepted = [scene.tell(told(name=f"p{number}")) for number in range(1001)]
    assert accepted == [True] * 1000 + [False]
    assert len(scene.series) == 1000


def test_only_so_much_is_remembered() -> None:
    scene = Scene()
    for number in range(5000):
        scene.tell(told(name=f"p{number}"))
        scene.write()
    scene.tell(told(name="p0"))
    scene.tell(told(name="p4999"))
    assert [write.is_new for write in scene.write()] == [True, False]


def test_an_event_that_the_server_has_lost_is_written_as_a_whole_again() -> None:
    scene = Scene()
    scene.tell(told())
    scene.write()
    scene.tell(told())
    write = scene.series.next()
    assert write is not None
    scene.series.vanished(write)
    (again,) = scene.write()
    assert again.is_new
    assert again.content["series"]["count"] == 2


@pytest.mark.parametrize("name", ["fe80::1", "Web", "x" * 300])
def test_an_event_has_a_name_that_the_server_takes(name: str) -> None:
    scene = Scene()
    scene.tell(told(name=name))
    (write,) = scene.write()
    assert write.key.name in {"event.1", f"{'x' * 220}.1"}


def test_what_is_in_no_namespace_is_told_in_the_default_one() -> None:
    node = Object.from_mapping({"metadata": {"name": "n1", "uid": "u"}}, NODES)
    scene = Scene()
    scene.tell(Told(regarding_of(node), (), "Warning", "Run", "Lost", ""))
    (write,) = scene.write()
    assert write.key.namespace == "default"
    assert write.content["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}


def test_a_reference_has_no_version_since_that_would_make_each_event_another() -> None:
    def pod(version: str) -> Object:
        metadata: dict[str, Any] = {
            "name": "web",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": version,
        }
        return Object.from_mapping({"metadata": metadata}, PODS)

    assert regarding_of(pod("1")) == regarding_of(pod("2"))


def test_a_related_object_and_long_notes_have_their_place() -> None:
    scene = Scene()
    scene.tell(told("x" * 2000)._replace(related=(("kind", "Node"), ("name", "n1"))))
    (write,) = scene.write()
    assert write.content["related"] == {"kind": "Node", "name": "n1"}
    assert len(write.content["note"]) == 1024


def test_a_series_of_which_something_was_only_counted_goes_on() -> None:
    scene = Scene()
    for _ in range(40):
        scene.tell(told())
        scene.write()
    scene.tell(told(), 400)
    (write,) = scene.write()
    assert (write.key.name, write.counted) == ("web.1", 41)


def test_what_is_given_up_is_not_tried_again_at_the_end() -> None:
    scene = Scene()
    scene.tell(told())
    write = scene.series.next()
    assert write is not None
    scene.series.failed(write)
    scene.series.flush()
    assert scene.write() == []
    scene.tell(told())
    assert [(write.is_new, write.key.name) for write in scene.write()] == [(True, "web.2")]


def test_what_is_told_while_it_is_being_written_is_written_next() -> None:
    scene = Scene()
    scene.tell(told())
    write = scene.series.next()
    assert write is not None
    scene.tell(told())
    scene.series.succeeded(write)
    assert [(write.is_new, write.counted) for write in scene.write()] == [(False, 2)]
