"""JSON that cannot be written, whichever way it is reached; and no method of dict or list is forgotten."""

import copy
import pickle
from collections import ChainMap, OrderedDict, UserDict, defaultdict
from collections.abc import Callable
from operator import itemgetter
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import FrozenDict, FrozenList, Object, Resource

CONTENT: dict[str, Any] = {"d": {"d": {"x": [1]}, "l": [[2], {"y": 3}]}, "l": [[[4], {"z": 5}], {"l": [6]}]}
"""Dicts and lists in each other, so that every step down may be of either kind."""

READERS: dict[str, str] = {
    "__class__": "is what it is: to set it is refused by __setattr__",
    "__class_getitem__": "makes a type",
    "__contains__": "says whether",
    "__dir__": "gives names",
    "__doc__": "is text",
    "__eq__": "says whether",
    "__format__": "gives text",
    "__ge__": "says whether",
    "__getattribute__": "gives a method",
    "__getitem__": "gives what is wrapped",
    "__getstate__": "gives nothing",
    "__gt__": "says whether",
    "__hash__": "is none: what equals a dict cannot have one",
    "__init__": "does nothing: it is filled when it is made",
    "__init_subclass__": "is about classes",
    "__iter__": "gives keys, or what is wrapped",
    "__le__": "says whether",
    "__len__": "gives a number",
    "__lt__": "says whether",
    "__ne__": "says whether",
    "__new__": "makes another",
    "__reduce__": "gives what to make another of",
    "__reduce_ex__": "gives what to make another of",
    "__repr__": "gives text",
    "__reversed__": "gives keys, or what is wrapped",
    "__sizeof__": "gives a number",
    "__str__": "gives text",
    "__subclasshook__": "is about classes",
    "copy": "gives another of what is wrapped",
}
READERS_OF_A_DICT = READERS | {
    "__or__": "gives another of what is wrapped",
    "__ror__": "gives another of what is wrapped",
    "fromkeys": "makes another, which cannot be filled",
    "get": "gives what is wrapped",
    "items": "gives what is wrapped",
    "keys": "gives keys",
    "values": "gives what is wrapped",
}
READERS_OF_A_LIST = READERS | {
    "__add__": "gives another of what is wrapped",
    "__mul__": "gives another of what is wrapped",
    "__rmul__": "gives another of what is wrapped",
    "count": "gives a number",
    "index": "gives a number",
}
WRITERS_OF_A_DICT = sorted(set(dir(dict)) - READERS_OF_A_DICT.keys())
WRITERS_OF_A_LIST = sorted(set(dir(list)) - READERS_OF_A_LIST.keys())
ARGUMENTS: list[tuple[object, ...]] = [(), (0,), ("d",), (0, 1), ("d", 1), ({"d": 1},), ([1],)]


def matched(value: object) -> Any:
    match value:
        case {"d": found, **rest}:
            return {"d": found} | rest
        case {**rest}:
            return rest
        case [first, *more]:
            return [first, *more]
        case _:
            raise AssertionError(value)


def keywords(**content: Any) -> dict[str, Any]:
    return content


def loaded(value: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    content |= value
    return content


WAYS_INTO_A_DICT: dict[str, Callable[[Any, str], Any]] = {
    "[]": lambda value, key: value[key],
    "get": lambda value, key: value.get(key),
    "values": lambda value, key: list(value.values())[list(value).index(key)],
    "reversed values": lambda value, key: list(reversed(value.values()))[-1 - list(value).index(key)],
    "items": lambda value, key: dict(value.items())[key],
    "the mapping of items": lambda value, key: value.items().mapping[key],
    "the mapping of keys": lambda value, key: (value.keys().mapping | {})[key],
    "copy": lambda value, key: value.copy()[key],
    "copy.copy": lambda value, key: copy.copy(value)[key],
    "dict": lambda value, key: dict(value)[key],
    "|": lambda value, key: (value | {})[key],
    "| from the right": lambda value, key: ({} | value)[key],
    "|= into another": lambda value, key: loaded(value)[key],
    "** into a dict": lambda value, key: {**value}[key],
    "** into a call": lambda value, key: keywords(**value)[key],
    "** into attributes": lambda value, key: getattr(SimpleNamespace(**value), key),
    "match": lambda value, key: matched(value)[key],
    "itemgetter": lambda value, key: itemgetter(key)(value),
    "OrderedDict": lambda value, key: OrderedDict(value)[key],
    "defaultdict": lambda value, key: defaultdict(list, value)[key],
    "UserDict": lambda value, key: UserDict(value)[key],
    "ChainMap": lambda value, key: ChainMap({}, value)[key],
    "pickle": lambda value, key: pickle.loads(pickle.dumps(value))[key],
    "FrozenDict": lambda value, key: FrozenDict(value)[key],
}
WAYS_INTO_A_LIST: dict[str, Callable[[Any, int], Any]] = {
    "[]": lambda value, at: value[at],
    "slice": lambda value, at: value[at:][0],
    "iteration": lambda value, at: list(value)[at],
    "reversed": lambda value, at: list(reversed(value))[-1 - at],
    "sorted": lambda value, at: sorted(value, key=lambda _: 0)[at],
    "copy": lambda value, at: value.copy()[at],
    "copy.copy": lambda value, at: copy.copy(value)[at],
    "+": lambda value, at: (value + EMPTY)[at],
    "+ from the right": lambda value, at: (EMPTY + value)[at],
    "+= into another": lambda value, at: extended(value)[at],
    "*": lambda value, at: (value * 2)[at + len(value)],
    "* from the right": lambda value, at: (2 * value)[at],
    "* into a list": lambda value, at: [*value][at],
    "match": lambda value, at: matched(value)[at],
    "itemgetter": lambda value, at: itemgetter(at)(value),
    "zip": lambda value, at: list(zip(value, strict=True))[at][0],
    "sample": lambda value, at: sorted(Random(1).sample(value, len(value)), key=value.index)[at],
    "pickle": lambda value, at: pickle.loads(pickle.dumps(value))[at],
    "FrozenList": lambda value, at: FrozenList(value)[at],
}
EMPTY: list[Any] = []


def extended(value: list[Any]) -> list[Any]:
    content: list[Any] = []
    content += value
    return content


def fresh() -> FrozenDict:
    return Object.from_mapping({"metadata": {"name": "a"}, "spec": CONTENT}, Resource.builtin("Pod"))["spec"]  # type: ignore[no-any-return]  # JSON


def refuses_everything(value: Any) -> None:
    for name in WRITERS_OF_A_DICT if isinstance(value, dict) else WRITERS_OF_A_LIST:
        for arguments in ARGUMENTS:
            with pytest.raises(TypeError, match=r"obj\.thaw\(\)"):
                getattr(value, name)(*arguments)


PATHS: list[tuple[str | int, ...]] = [
    *(("d",), ("d", "d"), ("d", "d", "x"), ("d", "l"), ("d", "l", 0), ("d", "l", 1)),
    *(("l",), ("l", 0), ("l", 0, 0), ("l", 0, 1), ("l", 1), ("l", 1, "l")),
]


@pytest.mark.parametrize("into_a_dict", WAYS_INTO_A_DICT.values(), ids=WAYS_INTO_A_DICT)
def test_what_is_inside_is_wrapped_however_it_is_reached(into_a_dict: Callable[[Any, str], Any]) -> None:
    for into_a_list in WAYS_INTO_A_LIST.values():
        for path in PATHS:
            value: Any = fresh()
            for step in path:
                value = into_a_dict(value, step) if isinstance(step, str) else into_a_list(value, step)
            assert type(value) in {FrozenDict, FrozenList}


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_nothing_can_be_written_at_any_depth(path: tuple[str | int, ...]) -> None:
    content = fresh()
    value: Any = content
    for step in path:
        value = value[step]
    refuses_everything(value)
    assert content == CONTENT


def test_a_method_is_a_reader_or_refuses() -> None:
    """So a method that Python gets some day is noticed, unless it raises as it should."""
    of_both = {"__delattr__", "__delitem__", "__setattr__", "__setitem__", "clear", "pop"}
    assert of_both | {"__ior__", "popitem", "setdefault", "update"} <= set(WRITERS_OF_A_DICT)
    of_lists = {"__iadd__", "__imul__", "append", "extend", "insert", "remove", "reverse", "sort"}
    assert of_both | of_lists <= set(WRITERS_OF_A_LIST)
    refuses_everything(FrozenDict())
    refuses_everything(FrozenList())


def test_statements_that_write_are_refused() -> None:
    content = fresh()
    statements = ["v['d'] = 1", "del v['d']", "v |= {'d': 1}", "v.d = 1", "v['d']['d'] = 1", "v['l'][0] = 1"]
    statements += ["v['l'][:] = []", "del v['l'][0]", "v['l'] += [1]", "v['l'] *= 2", "v['l'].x = 1"]
    statements += ["v['l'][0][1]['z'] += 1", "v.__class__ = dict", "v['l'].__class__ = list"]
    for statement in statements:
        with pytest.raises(TypeError, match="read-only"):
            exec(statement, {"v": content})
    assert content == CONTENT


def test_to_be_made_again_changes_nothing() -> None:
    content = fresh()
    content.__init__(x=1)  # type: ignore[misc]  # that is the point
    content["l"].__init__([1])
    assert content == CONTENT


def test_no_key_can_be_filled_in_from_the_class() -> None:
    with pytest.raises(TypeError, match="read-only"):
        FrozenDict.fromkeys("ab")


@given(st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=8))
def test_a_deep_copy_is_plain_and_shares_nothing(value: Any) -> None:
    frozen = FrozenDict({"value": value, "inner": {"value": value}})
    frozen["value"]
    copied = copy.deepcopy(frozen)
    assert copied == frozen
    assert _types(copied).isdisjoint({FrozenDict, FrozenList})


def test_a_nested_value_is_wrapped_once() -> None:
    content = fresh()
    assert content["d"]["d"] is content["d"]["d"]
    assert content["l"][0] is content["l"][0]


def test_a_missing_key_reads_as_the_default() -> None:
    assert fresh().get("nothing") is None
    assert fresh().get("nothing", 5) == 5


def _types(value: object) -> set[type]:
    found = {type(value)}
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found |= _types(item)
    return found
