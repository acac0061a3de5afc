"""The rows of the demo's table."""

from typing import Any

from kinformer.cli._stage import Row
from kinformer.cli._view import rows
from kinformer.cli._website import CONFIG_MAPS, DEPLOYMENTS, DIRECTORY, WEBSITES
from kinformer.meta import Object
from kinformer.testing import config_map, custom_object


def website(name: str, **metadata: Any) -> dict[str, Any]:
    content = custom_object(WEBSITES, name, spec={"html": "x", "replicas": 2})
    content["metadata"] |= metadata
    return content


def test_each_website_has_a_row_with_what_belongs_to_it() -> None:
    site = website("blog")
    ready = {"type": "Ready", "reason": "RollingOut", "message": "1 of 2 replicas are ready"}
    site["status"] = {"conditions": [ready]}
    deployment = {
        "metadata": {"name": "blog", "namespace": "default"},
        "spec": {"replicas": 2},
        "status": {"readyReplicas": 1},
    }
    found = rows(
        [Object.from_mapping(site, WEBSITES)],
        [Object.from_mapping(deployment, DEPLOYMENTS)],
        [
            Object.from_mapping(config_map(name, data={"index.html": "hi"}), CONFIG_MAPS)
            for name in ("blog", DIRECTORY)
        ],
    )
    assert found == [Row("blog", "2 wanted: RollingOut, 1 of 2 replicas are ready", "1/2 ready", "hi")]


def test_what_is_missing_new_or_on_its_way_out_is_said() -> None:
    leaving = website("old", deletionTimestamp="2026-01-01T00:00:00Z")
    found = rows(
        [Object.from_mapping(site, WEBSITES) for site in (website("new"), leaving)],
        [],
        [Object.from_mapping(config_map("left"), CONFIG_MAPS)],
    )
    assert found == [
        Row("left", "gone", "missing", "empty"),
        Row("new", "2 wanted: not seen by the controller yet", "missing", "missing"),
        Row("old", "is being deleted", "missing", "missing"),
    ]
