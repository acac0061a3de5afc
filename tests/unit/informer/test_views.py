"""What is given for a record: nothing of it is anybody else's."""

import copy
import dataclasses
import gc
from collections.abc import Callable, Iterator
from datetime import date
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from kubernetes_asyncio.client import V1Pod

from kinformer.hooks import NoHooks
from kinformer.informer import Added, Deleted, Lister, Notification, Updated
from kinformer.informer._fitting import Fitting
from kinformer.informer._views import Views
from kinformer.meta import Object, ObjectKey, ObjectMeta, OwnerReference, Record, Resource
from kinformer.store import BUILTIN_INDEXERS, StoreWriter

PODS = Resource.builtin("Pod")


class Spec(msgspec.Struct):
    replicas: int


class Model(msgspec.Struct):
    spec: Spec


class FrozenStruct(msgspec.Struct, frozen=True):
    """Frozen, but what is in it is not."""

    spec: Spec
    metadata: dict[str, Any]


@dataclasses.dataclass
class Dataclass:
    spec: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class FrozenDataclass:
    spec: dict[str, Any]
    metadata: dict[str, Any]


class Typed(TypedDict):
    spec: dict[str, Any]


class PydanticSpec(pydantic.BaseModel):
    replicas: int


class Pydantic(pydantic.BaseModel):
    spec: PydanticSpec


class FrozenPydantic(pydantic.BaseModel, frozen=True):
    spec: PydanticSpec
    metadata: dict[str, Any]


MODELS: list[type] = [
    *(Object, Model, FrozenStruct, Dataclass, FrozenDataclass, Typed, Pydantic, FrozenPydantic, V1Pod),
    dict,
]


def record(replicas: object, *, name: str = "a") -> Record:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "owner"}
    metadata = {"name": name, "namespace": "default", "labels": {"x": "y"}, "ownerReferences": [owner]}
    content = {
        "metadata": metadata | {"annotations": {"x": "y"}},
        "spec": {"replicas": replicas, "containers": []},
    }
    return Record.decode(msgspec.json.encode(content), PODS)


CONSTANT = (
    *(str, bytes, int, float, type(None), Enum, date, type, FunctionType, ModuleType),
    *(Record, ObjectMeta, OwnerReference, Resource, ObjectKey),
)
"""What may be shared: it cannot be changed, and leads to nothing that can."""


def is_constant(value: object) -> bool:
    if isinstance(value, dict | list | set):
        return False
    return isinstance(value, CONSTANT) or value == () or getattr(type(value), "__slots__", None) == ()


def changeable(root: object) -> dict[int, Any]:
    """By id, everything that can be reached from there, by C too, and is not constant."""
    found: dict[int, Any] = {}
    stack = [root]
    while stack:
        value = stack.pop()
        if id(value) not in found and not is_constant(value):
            found[id(value)] = value
            stack += gc.get_referents(value)
    return found


def given(told: Notification[Any]) -> list[Any]:
    return [told.old, told.new] if isinstance(told, Updated) else [told.obj]


def read(value: Any) -> None:
    """Have everything decoded that is decoded on demand."""
    if isinstance(value, Object):
        assert value["spec"]["replicas"] == 1
        assert value.at("metadata", "labels", "x") == "y"


class Readers:
    """A store, a lister of it, and handlers, of one model."""

    def __init__(self, model: type) -> None:
        self.kept, self.newer = record(1), record(1)
        writer = StoreWriter(BUILTIN_INDEXERS)
        writer.put(self.kept)
        self.views: Views[Any] = Views(model)
        self.lister: Lister[Any] = Lister(
            writer.store, self.views, resource=PODS, name="pods", is_synced=lambda: True, hooks=NoHooks()
        )

    def all(self) -> Iterator[list[Any]]:
        """What each of all those is given that look at the record in one way or another."""
        yield from self.handlers()
        yield from self.handlers()
        lister, typed = self.lister, self.lister.typed(self.views.model)
        for one in (lister, lister, typed):
            yield [one.get("default/a")]
            yield list(one.list())
            yield list(one.list(namespace="default", labels="x=y"))
            yield list(one.by_namespace("default"))
            yield list(one.by_owner("owner"))
            yield list(one.by_index("namespace", "default"))
            yield list(one.by_indexes({"namespace": "default", "owner-uid": "owner"}))

    def handlers(self) -> Iterator[list[Any]]:
        fitting = Fitting(self.views)
        for happened in (
            Added(self.kept),
            Updated(self.kept, self.kept),
            Updated(self.kept, self.newer),
            Deleted(self.kept),
        ):
            told = fitting(happened)
            assert told is not None
            yield given(told)


@pytest.mark.parametrize("model", MODELS)
def test_what_one_is_given_shares_nothing_that_can_be_changed_with_what_another_is_given(model: type) -> None:
    seen: dict[int, Any] = {}
    for values in Readers(model).all():
        assert values
        for value in values:
            read(value)
        mine = {key: one for value in values for key, one in changeable(value).items()}
        assert mine
        assert [seen[key] for key in mine.keys() & seen.keys()] == []
        seen |= mine  # which keeps it alive, so that no id is given out twice


@pytest.mark.parametrize("model", MODELS)
def test_what_is_given_is_as_the_store_has_it_whatever_was_done_to_the_last_one(model: type) -> None:
    readers = Readers(model)
    pristine = copy.deepcopy(readers.lister.get("default/a"))
    for values in readers.all():
        for value in values:
            read(value)
            assert value == pristine
        for value in values:
            spoil(value)


def spoil(root: object) -> None:
    """Change what can be changed, by force."""
    for value in changeable(root).values():
        if isinstance(value, dict):
            dict.clear(value)
        elif isinstance(value, list):
            list.clear(value)


def test_metadata_of_a_record_is_constant_and_its_dicts_are_made_at_each_access() -> None:
    meta = record(1).metadata
    for read_it in (lambda: meta.labels, lambda: meta.annotations):
        mine: Callable[[], Any] = read_it
        dict.clear(mine())
        assert mine() == {"x": "y"}
    for field in meta.__struct_fields__:
        assert not isinstance(getattr(meta, field), dict | list | set)
        with pytest.raises(AttributeError, match="immutable"):
            setattr(meta, field, "z")
    with pytest.raises(AttributeError, match="immutable"):
        meta.owner_references[0].uid = "z"  # type: ignore[misc]  # that is the point
