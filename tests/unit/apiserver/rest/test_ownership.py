"""Managed fields: reading, writing, and names: rules P-8 and W-3."""

from typing import Any

import pytest

from kinformer.apiserver.rest import WriteOptions
from kinformer.apiserver.rest._ownership import Manager, Owned, read_owners, write_owners
from kinformer.apiserver.rest._writing import manager_of

ENTRY = {
    "manager": "m",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "t",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {".": {}, "f:x": {}}},
    "subresource": "status",
}


def test_what_is_written_can_be_read() -> None:
    owners = read_owners({"managedFields": [ENTRY]})
    paths = frozenset({("f:data",), ("f:data", "f:x")})
    assert owners == {Manager("m", "Update", "v1", "status"): Owned(paths, "v1", "t")}
    metadata: dict[str, Any] = {}
    assert owners is not None
    write_owners(metadata, owners)
    assert metadata == {"managedFields": [ENTRY]}


@pytest.mark.parametrize("entries", [3, [3], [{}], [{"manager": "m"}], [{**ENTRY, "fieldsV1": {"f:x": 1}}]])
def test_what_cannot_be_read_is_as_good_as_nothing(entries: Any) -> None:
    assert read_owners({"managedFields": entries}) is None


def test_entries_are_sorted_by_operation_then_time_then_name() -> None:
    paths = frozenset({("f:data",)})
    metadata: dict[str, Any] = {}
    write_owners(
        metadata,
        {
            Manager("z", "Update", "v1"): Owned(paths, "v1", "1"),
            Manager("b", "Apply"): Owned(paths, "v1", "2"),
            Manager("c", "Apply"): Owned(paths, "v1", "1"),
            Manager("a", "Update", "v1"): Owned(paths, "v1", "1"),
        },
    )
    assert [entry["manager"] for entry in metadata["managedFields"]] == ["c", "b", "a", "z"]


def test_nobody_leaves_no_entry() -> None:
    metadata = {"managedFields": [ENTRY]}
    write_owners(metadata, {})
    assert metadata == {}


@pytest.mark.parametrize(
    ("manager", "agent", "name"),
    [
        ("m", "kubectl/v1", "m"),
        ("", "kubectl/v1.33 (linux)", "kubectl"),
        ("", "a\nb/1", "ab"),
        ("", "x" * 200, "x" * 128),
        ("", "", "unknown"),
    ],
)
def test_w3_the_name_of_the_manager(manager: str, agent: str, name: str) -> None:
    assert manager_of(WriteOptions(field_manager=manager, user_agent=agent)) == name
