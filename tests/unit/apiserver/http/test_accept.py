import pytest

from kinformer.apiserver.http._accept import DISCOVERY, Form, Media, View, negotiate

TABLES = frozenset({View.TABLE, View.METADATA})
LISTS = frozenset({View.TABLE, View.METADATA_LIST})
JSON = Form()
TABLE = Form(Media.JSON, View.TABLE, "v1")
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

KUBECTL = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"


@pytest.mark.parametrize(
    ("header", "views", "form"),
    [
        ("", TABLES, JSON),
        ("*/*", TABLES, JSON),
        ("application/*", TABLES, JSON),
        ("application/json, */*", TABLES, JSON),
        ("Application/JSON", TABLES, JSON),
        (KUBECTL, TABLES, TABLE),
        (KUBECTL, frozenset(), JSON),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
            TABLES,
            Form(Media.JSON, View.TABLE, "v1beta1"),
        ),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", TABLES, None),
        ("application/json;as=Table;v=v1;g=other", TABLES, None),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", frozenset(), None),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", LISTS, None),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", TABLES, None),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            LISTS,
            Form(Media.JSON, View.METADATA_LIST, "v1"),
        ),
        ("application/yaml", TABLES, Form(Media.YAML)),
        ("application/yaml;q=0.5, application/json;q=0.9", TABLES, JSON),
        ("application/yaml, application/json", TABLES, Form(Media.YAML)),
        ("application/json;q=0", TABLES, None),
        ("application/json;q=high", TABLES, None),
        ("application/vnd.kubernetes.protobuf", TABLES, None),
        ("application/vnd.kubernetes.protobuf,application/json", TABLES, JSON),
        ("application/vnd.kubernetes.protobuf, */*", TABLES, JSON),
        ("application/json;stream=watch", TABLES, JSON),
        ("application/json;stream=other", TABLES, None),
        ("application/json;charset=utf-8", TABLES, JSON),
        ("text/html", TABLES, None),
        (V2, DISCOVERY, Form(Media.JSON, View.DISCOVERY, "v2")),
        (V2.replace("v2", "v2beta1"), DISCOVERY, Form(Media.JSON, View.DISCOVERY, "v2beta1")),
        (
            "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
            DISCOVERY,
            Form(Media.JSON, View.DISCOVERY, "v2"),
        ),
        (V2.replace("v2", "v3") + ",application/json", DISCOVERY, JSON),
    ],
)
def test_the_first_acceptable_clause_wins_h_8(header: str, views: frozenset[View], form: Form | None) -> None:
    assert negotiate(header, views) == form
