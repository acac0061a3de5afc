"""A handle against the plain content: it is read in every way, in any order, and nothing that is done to it shows."""

import copy
import pickle
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.meta import FrozenDict, FrozenList, Object, Resource

PODS = Resource.builtin("Pod")
EMPTY: list[Any] = []
LEAVES = st.none() | st.integers(0, 3) | st.text("ab", max_size=2)
JSON = st.recursive(
    st.lists(LEAVES, max_size=2) | st.dictionaries(st.sampled_from("ab"), LEAVES, max_size=2),
    lambda inner: (
        st.lists(inner | LEAVES, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner | LEAVES, min_size=1)
    ),
    max_leaves=6,
)
DICT_READS: list[Callable[[Any, str], Any]] = [
    lambda value, key: value[key],
    lambda value, key: value.get(key),
    lambda value, key: dict(value.items())[key],
    lambda value, key: list(value.values())[list(value).index(key)],
    lambda value, key: value.copy()[key],
    lambda value, key: dict(value)[key],
    lambda value, key: (value | {})[key],
    lambda value, key: ({} | value)[key],
    lambda value, key: {**value}[key],
]
LIST_READS: list[Callable[[Any, int], Any]] = [
    lambda value, index: value[index],
    lambda value, index: value[index - len(value)],
    lambda value, index: list(value)[index],
    lambda value, index: list(reversed(value))[-1 - index],
    lambda value, index: value[index:][0],
    lambda value, index: value.copy()[index],
    lambda value, index: (value + EMPTY)[index],
    lambda value, index: (EMPTY + value)[index],
    lambda value, index: (value * 2)[index + len(value)],
    lambda value, index: [*value][index],
]
WRITES: list[Callable[[Any, Any], object]] = [
    lambda value, key: value.__setitem__(key, 1),
    lambda value, key: value.__delitem__(key),
    lambda value, key: value.pop(),
    lambda value, key: value.clear(),
]
COPIES: list[Callable[[Any], Any]] = [copy.copy, lambda value: value.copy(), copy.deepcopy]


class ObjectMachine(RuleBasedStateMachine):
    """Everything that was reached is kept, with what the plain content has there."""

    @initialize(spec=st.lists(JSON, min_size=1, max_size=3), status=JSON)
    def begin(self, spec: Any, status: Any) -> None:
        self.content = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": spec,
            "status": status,
        }
        self.raw = msgspec.json.encode(self.content)
        self.object = Object.from_json(self.raw, PODS)
        self.reached: list[tuple[Any, Any]] = []

    @property
    def whole(self) -> tuple[Any, Any]:
        return self.object.body, self.content

    @rule(seed=st.integers(0, 9999), is_afresh=st.booleans())
    def read(self, seed: int, is_afresh: bool) -> None:
        """Go down to a leaf, each step in another way, and begin again at the top."""
        if is_afresh:
            self.object = Object(self.object.record)
        random = Random(seed)
        value, plain = self.whole
        for _ in range(12):
            step: Any = random.choice(list(plain) if isinstance(plain, dict) else range(len(plain)))
            reads: Sequence[Callable[[Any, Any], Any]] = DICT_READS if isinstance(plain, dict) else LIST_READS
            value, plain = random.choice(reads)(value, step), plain[step]
            if isinstance(plain, dict | list):
                assert type(value) is (FrozenDict if isinstance(plain, dict) else FrozenList)
                self.reached.append((value, plain))
            else:
                assert value == plain
            if not plain or not isinstance(plain, dict | list):
                value, plain = self.whole

    @rule(path=st.lists(st.sampled_from(["spec", "status", "a", "b", 0, 1]), max_size=3))
    def read_at_a_path(self, path: list[str | int]) -> None:
        value: Any = self.content
        try:
            for step in path:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
        assert self.object.at(*path, default="nothing") == ("nothing" if value is None else value)

    @rule(back=st.integers(0, 9), write=st.sampled_from(WRITES))
    def try_to_write(self, back: int, write: Callable[[Any, Any], object]) -> None:
        value, plain = [self.whole, *self.reached][-back:][0]
        with pytest.raises(TypeError, match=r"take obj\.thaw\(\)"):
            write(value, next(iter(plain), "a") if isinstance(plain, dict) else 0)

    @rule(back=st.integers(0, 9), copied=st.sampled_from(COPIES))
    def change_a_copy(self, back: int, copied: Callable[[Any], Any]) -> None:
        value, plain = [self.whole, *self.reached][-back:][0]
        copy_of_it = copied(value)
        assert copy_of_it == plain
        assert type(copy_of_it) in {dict, list}
        copy_of_it.clear()

    @rule()
    def change_what_is_thawed(self) -> None:
        thawed = self.object.thaw()
        assert thawed == self.content
        spoil(thawed)
        spoil(copy.deepcopy(self.object.body))

    @rule()
    def look_at_it_anew(self) -> None:
        """Another handle on the same record owes the first one nothing."""
        other = Object(self.object.record)
        assert other == self.object
        assert other.body is not self.object.body
        assert pickle.loads(pickle.dumps(self.object.body)) == self.content
        assert msgspec.json.decode(self.object.to_json()) == self.content

    @invariant()
    def whatever_was_done_it_is_as_it_was(self) -> None:
        assert self.object.raw == self.raw
        assert self.object.body == self.content
        assert all(value == plain for value, plain in self.reached)


def spoil(value: Any) -> None:
    """Change everything in it, from the inside out; what is frozen refuses, and that is a failure here."""
    for inner in list(value.values()) if isinstance(value, dict) else list(value):
        if isinstance(inner, dict | list):
            spoil(inner)
    value.clear()


TestObject = ObjectMachine.TestCase
TestObject.settings = settings(max_examples=40, stateful_step_count=15)
