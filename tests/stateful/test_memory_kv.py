"""Mvcc and transactions against the plainest model: a list with the whole content at each revision."""

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.apiserver.storage import (
    CompactedError,
    Compare,
    Delete,
    DeleteResult,
    FutureRevisionError,
    KeyRange,
    KeyValue,
    Mvcc,
    Operation,
    Put,
    PutResult,
    Read,
    ReadResult,
    Result,
    Transaction,
    TransactionError,
    TransactionResult,
)
from kinformer.apiserver.storage._execution import execute

KEYS = ("/p/a", "/p/b", "/p/b-c", "/q/a")
RANGES = (
    *map(KeyRange.key, KEYS),
    KeyRange.prefix("/p/"),
    KeyRange.prefix("/p/b"),
    KeyRange.prefix(""),
    KeyRange("/p/b", "/p/a"),
    KeyRange("/p/b", None),
)
STEPS = ("put", "put", "put two", "delete", "compact")
Content = dict[str, KeyValue]
Sides = list[tuple[str, KeyValue | None]]

keys = st.sampled_from(RANGES)
puts = st.builds(Put, st.sampled_from(KEYS), st.binary(max_size=1))
numbers = st.builds(
    Compare,
    keys,
    st.sampled_from(["version", "create_revision", "mod_revision"]),
    st.sampled_from(["=", "!=", "<", ">"]),
    st.integers(0, 4),
)
values = st.builds(
    Compare, keys, st.just("value"), st.sampled_from(["=", "!=", "<", ">"]), st.binary(max_size=1)
)


def transactions(operation: st.SearchStrategy[Operation]) -> st.SearchStrategy[Transaction]:
    branch = st.lists(operation, max_size=3)
    return st.builds(Transaction, st.lists(numbers | values, max_size=2), branch, branch)


simple = (
    puts | st.builds(Delete, keys) | st.builds(Read, keys, limit=st.integers(0, 2), count_only=st.booleans())
)


class MvccModel(RuleBasedStateMachine):
    """The model keeps everything for ever; the structure must agree wherever it has not been told to forget."""

    def __init__(self) -> None:
        super().__init__()
        self.core = Mvcc()
        self.contents: list[Content] = [{}, {}]  # by revision
        self.changed: list[Sides] = [[], []]
        self.compacted = -1

    @property
    def now(self) -> int:
        return len(self.contents) - 1

    @rule(
        steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), min_size=3, max_size=12),
        several=st.lists(transactions(simple | transactions(simple)), min_size=1, max_size=3),
    )
    def go_on(self, steps: list[tuple[str, int]], several: list[Transaction]) -> None:
        for step, number in steps:
            key = KEYS[number % 4]
            match step:
                case "put":
                    self.transact(Transaction(then=[Put(key, b"")]))
                case "delete":
                    self.transact(Transaction(then=[Delete(RANGES[number % len(RANGES)])]))
                case "put two":
                    self.transact(Transaction(then=[Put(key, b"1"), Put(KEYS[(number + 1) % 4], b"2")]))
                case _:
                    self.compact(self.now + 1 - number)
        for transaction in several:
            self.transact(transaction)
        for revision in range(max(-1, self.now - 6), self.now + 2):
            for keys in RANGES:
                self.read(keys, revision)
                self.watch(keys, revision)
        self.check()

    def transact(self, transaction: Transaction) -> None:
        before = self.contents[-1]
        try:
            result = execute(self.core, transaction)
        except TransactionError:
            assert writes_twice(transaction)
            assert self.core.commit() == ()
            return
        assert not writes_twice(transaction)
        changes = self.core.commit()
        sides: Sides = []
        after, expected = self.carry_out(transaction, before, dict(before), sides)
        assert result == expected
        assert [(change.key, change.current) for change in changes] == sides
        assert [change.previous for change in changes] == [before.get(key) for key, _ in sides]
        if sides:
            self.contents.append(after)
            self.changed.append(sides)

    def carry_out(
        self, transaction: Transaction, before: Content, content: Content, sides: Sides
    ) -> tuple[Content, TransactionResult]:
        is_met = all(holds(compare, before) for compare in transaction.compares)
        results: list[Result] = []
        for each in transaction.then if is_met else transaction.otherwise:
            if isinstance(each, Put):
                results.append(PutResult(content.get(each.key)))
                new = self.written(each.key, each.value, content.get(each.key))
                content[each.key] = new
                sides.append((each.key, new))
            elif isinstance(each, Delete):
                gone = [key for key in sorted(content) if key in each.keys]
                results.append(DeleteResult(tuple(content.pop(key) for key in gone)))
                sides.extend((key, None) for key in gone)
            elif isinstance(each, Read):
                found = [content[key] for key in sorted(content) if key in each.keys]
                items = () if each.count_only else tuple(found[: each.limit or None])
                results.append(ReadResult(items, self.now + bool(sides), len(found)))
            else:
                results.append(self.carry_out(each, before, content, sides)[1])
        return content, TransactionResult(is_met, self.now + bool(sides), tuple(results))

    def written(self, key: str, value: bytes, held: KeyValue | None) -> KeyValue:
        if held is None:
            return KeyValue(key, value, self.now + 1, self.now + 1, 1)
        return replace(held, value=value, mod_revision=self.now + 1, version=held.version + 1)

    def compact(self, revision: int) -> None:
        if revision > self.now:
            with pytest.raises(FutureRevisionError):
                self.core.compact(revision)
        elif revision <= self.compacted:
            with pytest.raises(CompactedError):
                self.core.compact(revision)
        else:
            self.core.compact(revision)
            self.compacted = revision

    def read(self, keys: KeyRange, revision: int) -> None:
        if revision > self.now or 0 < revision < self.compacted:
            with pytest.raises((CompactedError, FutureRevisionError)):
                self.core.range(keys, revision=revision)
            return
        content = self.contents[revision if revision > 0 else self.now]
        wanted = tuple(content[key] for key in sorted(content) if key in keys)
        for limit in (0, 1, 2):
            found = self.core.range(keys, revision=revision, limit=limit)
            assert found == ReadResult(wanted[: limit or None], self.now, len(wanted))
            assert found.remaining == len(wanted) - len(found.items)
        assert self.core.range(keys, revision=revision, count_only=True).count == len(wanted)
        if keys.single is not None:
            assert self.core.get(keys.single, revision) == content.get(keys.single)

    def watch(self, keys: KeyRange, start: int) -> None:
        if start < self.compacted:
            with pytest.raises(CompactedError):
                self.core.changes(keys, start, 1)
            return
        wanted = [
            (revision, [side for side in self.changed[revision] if side[0] in keys])
            for revision in range(max(2, start), self.now + 1)
        ]
        wanted = [(revision, sides) for revision, sides in wanted if sides]
        for most in (1, 3):
            found, following = self.core.changes(keys, start, most)
            assert [(change.revision, change.key, change.current) for change in found] == [
                (revision, *side) for revision, sides in wanted[:most] for side in sides
            ]
            assert following == (wanted[most][0] if len(wanted) > most else 0)

    def check(self) -> None:
        """Memory is bounded by the live keys and the log."""
        assert self.core.revision == self.core.head == self.now
        assert len(self.core) == self.now + 1 - max(2, self.compacted)
        for key, history in self.core._histories.items():
            old = [change for change in history if change.revision < self.compacted]
            assert len(old) <= 1, f"{key} keeps what cannot be read any more"
            assert all(change.current for change in old), (
                f"{key} keeps a delete that cannot be watched any more"
            )
        assert sorted(self.core._histories) == self.core._keys
        assert self.core._dead == [key for key in self.core._keys if key not in self.contents[-1]]


def holds(compare: Compare, content: Content) -> bool:
    found = [value for key, value in content.items() if key in compare.keys]
    if not found and compare.target == "value":
        return False
    for value in found or [KeyValue("", b"", 0, 0, 0)]:
        left, right = getattr(value, compare.target), compare.operand
        order = (left > right) - (left < right)
        if not {"=": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0}[compare.operator]:
            return False
    return True


def writes_twice(transaction: Transaction) -> bool:
    """Whether some way through a transaction writes a key twice, deletes of deletes aside."""
    return any(
        (one.key == other.key if isinstance(other, Put) else one.key in other.keys)
        for branch in (transaction.then, transaction.otherwise)
        for way in ways(branch)
        for at, one in enumerate(way)
        for index, other in enumerate(way)
        if at != index and isinstance(one, Put)
    )


def ways(branch: Sequence[Operation]) -> list[list[Put | Delete]]:
    found: list[list[Put | Delete]] = [[]]
    for each in branch:
        if isinstance(each, Transaction):
            inner = [*ways(each.then), *ways(each.otherwise)]
            found = [[*way, *more] for way in found for more in inner]
        elif isinstance(each, Put | Delete):
            found = [[*way, each] for way in found]
    return found


TestMvcc = MvccModel.TestCase
TestMvcc.settings = settings(max_examples=20, stateful_step_count=5)
