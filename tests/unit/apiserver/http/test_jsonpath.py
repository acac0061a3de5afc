from typing import Any

import pytest

from kinformer.apiserver.http._jsonpath import find

OBJ: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"example.dev/x": "y"}},
    "spec": {"ports": [{"name": "web", "port": 80}, {"name": "db", "port": 5432}], "on": True, "none": None},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["a"]),
        ("{.metadata.name}", ["a"]),
        ("$.metadata.name", ["a"]),
        ("metadata.name", ["a"]),
        (".metadata['name']", ["a"]),
        ('.metadata["name"]', ["a"]),
        (r".metadata.labels.example\.dev/x", ["y"]),
        (".metadata.labels['example.dev/x']", ["y"]),
        (".spec.ports[0].name", ["web"]),
        (".spec.ports[-1].name", ["db"]),
        (".spec.ports[2].name", []),
        (".spec.ports[*].port", [80, 5432]),
        (".metadata.labels.*", ["y"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type!="Ready")].status', ["False"]),
        ('.status.conditions[?( @.type == "Ready" )].status', ["True"]),
        (".spec.ports[?(@.port==80)].name", ["web"]),
        (".spec.ports[?(@.port)].name", ["web", "db"]),
        (".spec.ports[?(@.host)].name", []),
        (".spec.none", [None]),
        (".spec.missing.deeper", []),
        (".metadata.name.deeper", []),
        (".metadata.name[0]", []),
        (".", [OBJ]),
    ],
)
def test_a_path_leads_to_values(path: str, found: list[Any]) -> None:
    assert find(path, OBJ) == found


@pytest.mark.parametrize("path", [".spec[", ".a[?(@.b>1)]", "..name", ".a[1:2]"])
def test_a_path_that_cannot_be_read_is_refused_with_its_text(path: str) -> None:
    with pytest.raises(ValueError, match="cannot read the JSONPath"):
        find(path, OBJ)
