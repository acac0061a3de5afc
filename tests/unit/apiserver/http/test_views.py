from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.apiserver.http._columns import columns_of
from kinformer.apiserver.http._views import metadata_list, metadata_only, table
from kinformer.apiserver.registry import Served

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = columns_of(Served("", "v1", "limitranges", "LimitRange"))
OBJ: dict[str, Any] = {
    "kind": "LimitRange",
    "apiVersion": "v1",
    "metadata": {"name": "a", "labels": {"x": "y"}},
    "spec": {},
}
META = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJ["metadata"]}


def test_a_table_has_columns_rows_and_the_lists_metadata_t_1() -> None:
    shown = table([OBJ], COLUMNS, version="v1", now=NOW, metadata={"resourceVersion": "7"})
    assert (shown["kind"], shown["apiVersion"], shown["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        {"resourceVersion": "7"},
    )
    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Age"]
    assert shown["rows"] == [{"cells": ["a", "<unknown>"], "object": META}]


@pytest.mark.parametrize(
    ("include", "row"),
    [("", {"object": META}), ("Metadata", {"object": META}), ("Object", {"object": OBJ}), ("None", {})],
)
def test_a_row_holds_what_was_asked_for_t_2(include: str, row: dict[str, Any]) -> None:
    shown = table([OBJ], COLUMNS, version="v1", now=NOW, metadata={}, include=include)
    assert shown["rows"] == [{"cells": ["a", "<unknown>"], **row}]


def test_later_events_of_a_watch_have_no_columns_t_4() -> None:
    shown = table([OBJ], COLUMNS, version="v1beta1", now=NOW, metadata={}, with_columns=False)
    assert shown["columnDefinitions"] is None
    assert shown["apiVersion"] == "meta.k8s.io/v1beta1"


def test_metadata_only_forms_t_6() -> None:
    assert metadata_only(OBJ, version="v1") == META
    assert metadata_list([OBJ], version="v1", metadata={"resourceVersion": "7"}) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "7"},
        "items": [META],
    }
