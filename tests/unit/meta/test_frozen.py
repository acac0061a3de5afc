import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import FrozenDict, FrozenList

CONTENT: dict[str, Any] = {"a": {"b": [1, {"c": [2]}]}, "d": [[3], {"e": 4}], "f": None}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def fresh() -> FrozenDict:
    return FrozenDict(copy.deepcopy(CONTENT))


DICT_WRITES: dict[str, Callable[[Any], object]] = {
    "setitem": lambda d: d.__setitem__("a", 1),
    "delitem": lambda d: d.__delitem__("a"),
    "ior": lambda d: d.__ior__({"a": 1}),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("z", 1),
    "update": lambda d: d.update(a=1),
}
LIST_WRITES: dict[str, Callable[[Any], object]] = {
    "setitem": lambda li: li.__setitem__(0, 1),
    "setslice": lambda li: li.__setitem__(slice(0, 1), [1]),
    "delitem": lambda li: li.__delitem__(0),
    "iadd": lambda li: li.__iadd__([1]),
    "imul": lambda li: li.__imul__(2),
    "append": lambda li: li.append(1),
    "clear": lambda li: li.clear(),
    "extend": lambda li: li.extend([1]),
    "insert": lambda li: li.insert(0, 1),
    "pop": lambda li: li.pop(),
    "remove": lambda li: li.remove(1),
    "reverse": lambda li: li.reverse(),
    "sort": lambda li: li.sort(),
}


@pytest.mark.parametrize("write", DICT_WRITES.values(), ids=DICT_WRITES)
@pytest.mark.parametrize(
    "reach",
    [
        lambda d: d,
        lambda d: d["a"],
        lambda d: d.get("a"),
        lambda d: d["a"]["b"][1],
        lambda d: next(iter(d.values())),
        lambda d: dict(d.items())["a"],
        lambda d: list(d["d"])[1],
        lambda d: d["d"][1:][0],
        lambda d: next(reversed(d["d"])),
        lambda d: d.copy()["a"],
        lambda d: copy.copy(d)["a"],
        lambda d: d["d"].copy()[1],
        lambda d: dict(d)["a"],
        lambda d: {**d}["a"],
        lambda d: (d | {})["a"],
        lambda d: ({} | d)["a"],
        lambda d: (d["d"] + [])[1],
        lambda d: ([] + d["d"])[1],
        lambda d: (d["d"] * 2)[3],
        lambda d: [*d["d"]][1],
    ],
)
def test_no_dict_can_be_written_however_it_was_reached(
    reach: Callable[[FrozenDict], Any], write: Callable[[Any], object]
) -> None:
    content = fresh()
    with pytest.raises(TypeError, match=r"obj\.thaw\(\)"):
        write(reach(content))
    assert content == CONTENT


@pytest.mark.parametrize("write", LIST_WRITES.values(), ids=LIST_WRITES)
@pytest.mark.parametrize("reach", [lambda d: d["a"]["b"], lambda d: d["a"]["b"][1]["c"], lambda d: d["d"][0]])
def test_no_list_can_be_written_however_it_was_reached(
    reach: Callable[[FrozenDict], Any], write: Callable[[Any], object]
) -> None:
    content = fresh()
    with pytest.raises(TypeError, match=r"obj\.thaw\(\)"):
        write(reach(content))
    assert content == CONTENT


@given(json_values)
def test_everything_that_reads_json_reads_a_frozen_value_alike(value: Any) -> None:
    frozen = FrozenDict({"value": value})
    plain = {"value": value}
    assert json.loads(json.dumps(frozen)) == plain
    assert msgspec.json.decode(msgspec.json.encode(frozen)) == plain
    assert frozen == plain
    assert dict(frozen.items()) == plain
    assert pickle.loads(pickle.dumps(frozen)) == plain
    assert frozen | {} == plain


@given(json_values)
def test_a_deep_copy_is_plain_and_shares_nothing(value: Any) -> None:
    frozen = FrozenDict({"value": value})
    frozen["value"]
    copied = copy.deepcopy(frozen)
    assert copied == frozen
    assert _types(copied).isdisjoint({FrozenDict, FrozenList})


def test_a_nested_value_is_wrapped_once() -> None:
    content = fresh()
    assert content["a"]["b"] is content["a"]["b"]
    assert isinstance(content["a"], FrozenDict)
    assert isinstance(content["a"]["b"], FrozenList)


def test_a_pickled_value_is_read_only_again() -> None:
    with pytest.raises(TypeError, match="read-only"):
        pickle.loads(pickle.dumps(fresh()))["a"]["x"] = 1
    with pytest.raises(TypeError, match="read-only"):
        pickle.loads(pickle.dumps(fresh()["d"])).append(1)


def test_a_missing_key_reads_as_the_default() -> None:
    assert fresh().get("nothing") is None
    assert fresh().get("nothing", 5) == 5


def _types(value: object) -> set[type]:
    found = {type(value)}
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found |= _types(item)
    return found
