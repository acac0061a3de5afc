from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.controller import Predicate, annotations_changed, any_of, generation_changed, labels_changed
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import Object, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
PREDICATES = [generation_changed, labels_changed, annotations_changed, any_of(labels_changed)]


def obj(**metadata: Any) -> Object:
    return Object.from_mapping({"metadata": {"name": "page", "namespace": "default"} | metadata}, CONFIG_MAPS)


def added(new: Object) -> Added[Object]:
    return Added(new, is_initial=False)


def deleted(last: Object) -> Deleted[Object]:
    return Deleted(last, is_tombstone=False)


BASE: dict[str, Any] = {"uid": "u", "resourceVersion": "1", "generation": 1}
NEXT = BASE | {"resourceVersion": "2"}


@pytest.mark.parametrize(
    ("old", "new", "passes"),
    [
        pytest.param(BASE, NEXT, False, id="status only"),
        pytest.param(BASE, NEXT | {"labels": {"a": "b"}}, False, id="labels only"),
        pytest.param(BASE, NEXT | {"generation": 2}, True, id="spec"),
        pytest.param(BASE, NEXT | {"finalizers": ["a/b"]}, True, id="finalizers"),
        pytest.param(
            BASE,
            NEXT | {"deletionTimestamp": datetime(2026, 1, 1, tzinfo=UTC).isoformat()},
            True,
            id="deletion",
        ),
        pytest.param(BASE, NEXT | {"uid": "v"}, True, id="made anew"),
        pytest.param(BASE, BASE, True, id="resync"),
        pytest.param({"resourceVersion": "1"}, {"resourceVersion": "2"}, True, id="kind without generation"),
    ],
)
def test_generation_changed_passes_what_may_want_work(
    old: dict[str, Any], new: dict[str, Any], passes: bool
) -> None:
    assert generation_changed(Updated(obj(**old), obj(**new))) is passes


def test_generation_changed_passes_additions_and_deletions() -> None:
    assert generation_changed(added(obj(**BASE)))
    assert generation_changed(deleted(obj(**BASE)))


@pytest.mark.parametrize(
    ("predicate", "field"), [(labels_changed, "labels"), (annotations_changed, "annotations")]
)
def test_labels_and_annotations_are_looked_at_by_value(predicate: Predicate, field: str) -> None:
    old = obj(resourceVersion="1", **{field: {"a": "b"}})
    assert predicate(Updated(old, obj(resourceVersion="2", **{field: {"a": "c"}})))
    assert predicate(Updated(old, obj(resourceVersion="2")))
    assert not predicate(Updated(old, obj(resourceVersion="2", generation=2, **{field: {"a": "b"}})))


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("notification", [added(obj()), deleted(obj()), Updated(obj(), obj())])
def test_additions_deletions_and_resyncs_pass_them_all(
    predicate: Predicate, notification: Notification[Object]
) -> None:
    assert predicate(notification)


def test_any_of_passes_what_one_of_them_passes() -> None:
    told = Updated(obj(resourceVersion="1", generation=1), obj(resourceVersion="2", generation=2))
    assert any_of(labels_changed, generation_changed)(told)
    assert not any_of(labels_changed, annotations_changed)(told)


def test_any_of_nothing_would_drop_everything_and_is_refused() -> None:
    with pytest.raises(ValueError, match="needs at least one predicate"):
        any_of()
    with pytest.raises(TypeError, match="takes functions, not 5"):
        any_of(labels_changed, 5)  # type: ignore[arg-type]  # a user's mistake
