"""What libraries do with a body: they read it as plain JSON, and what they spoil was one handle's."""

import copy
import dataclasses
import heapq
import json
import pickle
from collections.abc import Callable
from typing import Any, TypedDict

import jsonpatch
import jsonpath
import msgspec
import pydantic
import pytest
from jsonpath_ng.ext.parser import parse

from kinformer.meta import FrozenDict, FrozenList, Object, Resource

PODS = Resource.builtin("Pod")
CONTENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "spec": {"replicas": 3, "containers": [{"name": "c", "ports": [{"port": 80}]}], "order": [3, 1, 2]},
}


class Struct(msgspec.Struct):
    spec: dict[str, Any]


class FrozenStruct(msgspec.Struct, frozen=True):
    spec: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Dataclass:
    spec: dict[str, Any]


class Typed(TypedDict):
    spec: dict[str, Any]


class Model(pydantic.BaseModel):
    spec: dict[str, Any]


class FrozenModel(pydantic.BaseModel, frozen=True):
    spec: Any


def found_by_jsonpath_ng(body: FrozenDict) -> Any:
    return {"spec": parse("$.spec").find(body)[0].value}


def found_by_python_jsonpath(body: FrozenDict) -> Any:
    return {"spec": jsonpath.findall("$.spec", body)[0]}


READS: dict[str, Callable[[FrozenDict], Any]] = {
    "json": lambda body: json.loads(json.dumps(body)),
    "json of keys in order": lambda body: json.loads(json.dumps(body, sort_keys=True, indent=1)),
    "msgspec": lambda body: msgspec.json.decode(msgspec.json.encode(body)),
    "msgspec to builtins": msgspec.to_builtins,
    "msgspec convert": lambda body: msgspec.convert(body, dict[str, Any]),
    "msgspec Struct": lambda body: {"spec": msgspec.convert(body, Struct).spec},
    "msgspec frozen Struct": lambda body: {"spec": msgspec.convert(body, FrozenStruct).spec},
    "msgspec dataclass": lambda body: {"spec": msgspec.convert(body, Dataclass).spec},
    "msgspec TypedDict": lambda body: msgspec.convert(body, Typed),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda body: pickle.loads(pickle.dumps(body)),
    "|": lambda body: body | {},
    "pydantic": lambda body: Model.model_validate(body).model_dump(),
    "pydantic field": lambda body: {"spec": Model.model_validate(body).spec},
    "pydantic frozen": lambda body: {"spec": FrozenModel.model_validate(body).spec},
    "pydantic type adapter": lambda body: pydantic.TypeAdapter(dict[str, Any]).validate_python(body),
    "jsonpath-ng": found_by_jsonpath_ng,
    "python-jsonpath": found_by_python_jsonpath,
    "jsonpatch": lambda body: jsonpatch.apply_patch(body, []),
}
"""Each gives the body, or what is in it under the same name."""


def handle() -> Object:
    return Object.from_mapping(CONTENT, PODS)


def spoil(value: Any) -> None:
    """Change everything in it from the inside out, as a program would or as one in C could."""
    for inner in list(value.values()) if isinstance(value, dict) else list(value):
        if isinstance(inner, dict | list):
            spoil(inner)
    dict.clear(value) if isinstance(value, dict) else list.clear(value)


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_it_is_read_as_plain_json_and_what_came_out_of_it_is_nobody_elses(
    read: Callable[[FrozenDict], Any],
) -> None:
    mine, other = handle(), handle()
    read_before = other.body
    other.at("spec", "containers", 0)
    found = read(mine.body)
    assert found == {name: CONTENT[name] for name in found}
    assert "spec" in found
    spoil(found)
    spoil(mine.body)
    assert read_before == other.body == Object(mine.record).body == mine.thaw() == CONTENT
    assert mine.metadata.labels == {"app": "web"}


@pytest.mark.parametrize("query", ["$.spec.containers[*]", "$..ports", "$.*", "$.spec[?(@.ports)]"])
def test_a_path_finds_what_is_wrapped(query: str) -> None:
    found = [match.value for match in parse(query).find(handle().body)]
    found += jsonpath.findall(query, handle().body)
    assert {type(value) for value in found} <= {FrozenDict, FrozenList, str}


WRITES: dict[str, Callable[[FrozenDict], Any]] = {
    "jsonpath-ng update": lambda body: parse("$.spec.replicas").update(body, 1),
    "jsonpath-ng create": lambda body: parse("$.spec.more").update_or_create(body, 1),
    "jsonpath-ng filter": lambda body: parse("$.spec.order[0]").filter(lambda _: True, body),
    "python-jsonpath patch": lambda body: jsonpath.patch.apply(
        [{"op": "add", "path": "/spec/containers/-", "value": 1}], body
    ),
    "jsonpatch": lambda body: jsonpatch.apply_patch(
        body, [{"op": "remove", "path": "/spec/order/0"}], in_place=True
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_who_writes_into_it_is_told_what_to_do(write: Callable[[FrozenDict], Any]) -> None:
    body = handle().body
    with pytest.raises((TypeError, jsonpatch.JsonPatchConflict), match=r"obj\.thaw\(\)"):
        write(body)
    assert body == CONTENT


def test_what_reaches_past_the_wrapper_reaches_one_handle() -> None:
    """``heapq`` is written in C, and takes any list for a plain one."""
    mine, other = handle(), handle()
    heapq.heapify(mine["spec"]["order"])
    assert mine["spec"]["order"] == [1, 3, 2]
    assert mine.thaw() == Object(mine.record).body == other.body == CONTENT


def test_it_is_a_dict_and_equal_to_one() -> None:
    body = handle().body
    assert isinstance(body, dict)
    assert isinstance(body["spec"]["containers"], list)
    assert body == CONTENT
    assert body != CONTENT | {"spec": {}}


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda obj: pickle.loads(pickle.dumps(obj))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_of_a_handle_has_a_body_of_its_own(copied: Callable[[Object], Object]) -> None:
    first = handle()
    spoil(first.body["spec"])
    second = copied(first)
    assert second.record == first.record
    assert second.body == CONTENT
