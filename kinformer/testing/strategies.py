"""Hypothesis strategies for the vocabulary: keys, labels, selectors, records.

Names come from small alphabets on purpose, so that two draws often mean the same thing: that is where bugs live. Needs
hypothesis; nothing else in kinformer imports it.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from kinformer.meta import (
    FieldRequirement,
    FieldSelector,
    LabelOperator,
    LabelRequirement,
    LabelSelector,
    ObjectKey,
    Record,
    Resource,
)

__all__ = [
    "contents",
    "field_selectors",
    "keys",
    "label_requirements",
    "label_selectors",
    "labels",
    "names",
    "records",
]

_PODS: Final = Resource.builtin("Pod")
_KEYS: Final = ("app", "tier", "example.dev/part")
_VALUES: Final = ("", "web", "db", "1", "20")


def names() -> st.SearchStrategy[str]:
    """Object names: mostly one of a few, sometimes any DNS label."""
    return st.one_of(
        st.sampled_from(["a", "b", "c", "web-0", "web-1"]),
        st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True),
    )


def keys(*, namespaced: bool = True) -> st.SearchStrategy[ObjectKey]:
    """Object keys, of namespaced or of cluster-scoped objects."""
    namespaces = st.sampled_from(["default", "kube-system", "shop"]) if namespaced else st.just("")
    return st.builds(ObjectKey, namespaces, names())


def labels() -> st.SearchStrategy[dict[str, str]]:
    """Label sets over few keys and values, the empty value among them."""
    return st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES), max_size=len(_KEYS))


@st.composite
def label_requirements(draw: st.DrawFn) -> LabelRequirement:
    """Single terms with every operator, over the keys and values of ``labels``."""
    key = draw(st.sampled_from(_KEYS))
    operator: LabelOperator = draw(st.sampled_from(list(LabelOperator)))
    match operator:
        case LabelOperator.EXISTS | LabelOperator.NOT_EXISTS:
            values: tuple[str, ...] = ()
        case LabelOperator.GREATER | LabelOperator.LESS:
            values = (str(draw(st.integers(-2, 25))),)
        case LabelOperator.EQUALS | LabelOperator.NOT_EQUALS:
            values = (draw(st.sampled_from(_VALUES)),)
        case LabelOperator.IN | LabelOperator.NOT_IN:
            values = tuple(draw(st.lists(st.sampled_from(_VALUES), min_size=1, max_size=3)))
    return LabelRequirement(key, operator, values)


def label_selectors(*, max_size: int = 3) -> st.SearchStrategy[LabelSelector]:
    """Label selectors of up to ``max_size`` terms; none matches everything."""
    return st.lists(label_requirements(), max_size=max_size).map(lambda terms: LabelSelector(tuple(terms)))


def field_selectors(
    paths: tuple[str, ...] = ("metadata.name", "metadata.namespace"), *, max_size: int = 2
) -> st.SearchStrategy[FieldSelector]:
    """Field selectors over ``paths``; values may hold what the grammar must escape."""
    values = st.one_of(names(), st.text(alphabet="a,=\\", max_size=4))
    terms = st.builds(FieldRequirement, st.sampled_from(paths), values, st.booleans())
    return st.lists(terms, max_size=max_size).map(lambda found: FieldSelector(tuple(found)))


@st.composite
def contents(
    draw: st.DrawFn, resource: Resource = _PODS, *, key: ObjectKey | None = None, version: str | None = None
) -> dict[str, Any]:
    """Whole objects of a resource: metadata as a server fills it, and a small body.

    Args:
        draw: Given by hypothesis.
        resource: What they are objects of.
        key: Which object; drawn where ``None``.
        version: Its resource version; drawn where ``None``.
    """
    found = key or draw(keys(namespaced=resource.namespaced))
    metadata: dict[str, Any] = {
        "name": found.name,
        "uid": draw(st.sampled_from(["uid-1", "uid-2", "uid-3"])),
        "resourceVersion": version or str(draw(st.integers(1, 999))),
        "generation": draw(st.integers(1, 3)),
    }
    if found.namespace:
        metadata["namespace"] = found.namespace
    if chosen := draw(labels()):
        metadata["labels"] = chosen
    body: Mapping[str, Any] = draw(st.fixed_dictionaries({"replicas": st.integers(0, 3)}))
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": dict(body),
    }


def records(
    resource: Resource = _PODS, *, key: ObjectKey | None = None, version: str | None = None
) -> st.SearchStrategy[Record]:
    """Records of a resource, as a cache holds them; see ``contents`` for the arguments."""
    return contents(resource, key=key, version=version).map(
        lambda content: Record.decode(msgspec.json.encode(content), resource)
    )
