from typing import Any

import pytest

from kinformer.controller import Reason
from kinformer.controller._history import reason_of
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import Object, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")


def page(version: str = "1") -> Object:
    metadata: dict[str, Any] = {"name": "a", "namespace": "default", "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, CONFIG_MAPS)


@pytest.mark.parametrize(
    ("notification", "cause"),
    [
        (Added(page(), is_initial=True), "listed"),
        (Added(page(), is_initial=False), "added"),
        (Updated(page("1"), page("2")), "updated"),
        (Updated(page("1"), page("1")), "resynced"),
        (Deleted(page(), is_tombstone=False), "deleted"),
        (Deleted(page(), is_tombstone=True), "deleted"),
    ],
)
def test_a_reason_says_what_happened_to_which_object(notification: Notification[Object], cause: str) -> None:
    reason = reason_of(CONFIG_MAPS, notification)
    assert str(reason) == f"ConfigMap default/a {cause}"


def test_a_reason_without_an_object_is_one_word() -> None:
    assert str(Reason("retried")) == "retried"
