"""The strategies give what their names say, and what they give survives print and parse."""

from typing import Any

from hypothesis import given

from kinformer.meta import FieldSelector, LabelSelector, ObjectKey, Record, Resource
from kinformer.testing import strategies

NODES = Resource.builtin("Node")


@given(strategies.keys(), strategies.keys(namespaced=False))
def test_keys_print_and_parse(namespaced: ObjectKey, cluster: ObjectKey) -> None:
    assert ObjectKey.parse(str(namespaced)) == namespaced
    assert ObjectKey.parse(str(cluster)) == cluster
    assert not cluster.namespace


@given(strategies.label_selectors(), strategies.labels())
def test_label_selectors_match_the_same_after_print_and_parse(
    selector: LabelSelector, labels: dict[str, str]
) -> None:
    assert LabelSelector.parse(str(selector)).matches(labels) == selector.matches(labels)


@given(strategies.field_selectors())
def test_field_selectors_print_and_parse(selector: FieldSelector) -> None:
    assert FieldSelector.parse(str(selector)) == selector


@given(strategies.records(), strategies.records(NODES, key=ObjectKey("", "n1"), version="7"))
def test_records_fit_their_resource_and_their_arguments(any_pod: Record, node: Record) -> None:
    assert any_pod.key.namespace
    assert any_pod.metadata.key == any_pod.key
    assert (node.key, node.metadata.resource_version, node.resource) == (ObjectKey("", "n1"), "7", NODES)


@given(strategies.contents())
def test_contents_are_whole_objects(content: dict[str, Any]) -> None:
    assert (content["apiVersion"], content["kind"]) == ("v1", "Pod")
    assert content["metadata"]["resourceVersion"]
