"""What a transaction does to the revisions."""

import pytest

from kinformer.apiserver.storage import (
    CompactedError,
    Compare,
    Delete,
    FutureRevisionError,
    KeyRange,
    Mvcc,
    Operation,
    Put,
    Read,
    ReadResult,
    Transaction,
    TransactionError,
    TransactionResult,
)
from kinformer.apiserver.storage._execution import execute

ALL = KeyRange.prefix("")


def made() -> Mvcc:
    core = Mvcc()
    for value in (b"1", b"2", b"3"):
        core.put("a", value)
        core.commit()
    core.compact(3)
    return core


def test_a_read_sees_what_came_before_it_and_the_revision_that_will_be() -> None:
    core = made()
    steps: list[Operation] = [Read(ALL), Put("b", b""), Read(ALL), Delete(KeyRange.key("a")), Read(ALL)]
    result = execute(core, Transaction(then=steps))
    reads = [each for each in result.results if isinstance(each, ReadResult)]
    assert [(each.count, each.revision) for each in reads] == [(1, 4), (2, 5), (1, 5)]
    assert result.revision == 5
    assert [change.key for change in core.commit()] == ["b", "a"]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        pytest.param(Read(ALL, revision=2), CompactedError, id="a compacted read"),
        pytest.param(Read(ALL, revision=9), FutureRevisionError, id="a future read"),
        pytest.param(Put("b", b""), TransactionError, id="a key twice"),
        pytest.param(Transaction(then=[Read(ALL, revision=2)]), CompactedError, id="nested"),
    ],
)
def test_what_is_wrong_is_found_before_anything_is_changed(wrong: Operation, error: type[Exception]) -> None:
    core = made()
    with pytest.raises(error):
        execute(core, Transaction(then=[Put("b", b""), wrong]))
    assert core.commit() == ()
    assert core.range(ALL).count == 1


def test_only_the_branch_that_runs_is_checked_against_the_revisions() -> None:
    result = execute(made(), Transaction(then=[], otherwise=[Read(ALL, revision=2)]))
    assert result == TransactionResult(True, 4, ())


def test_nested_conditions_ask_about_what_was_there_before() -> None:
    core = made()
    is_new = Transaction([Compare(KeyRange.key("b"), "version", "=", 0)], then=[Read(ALL, count_only=True)])
    result = execute(core, Transaction(then=[Put("b", b""), is_new]))
    assert result.results[1] == TransactionResult(True, 5, (ReadResult((), 5, 2),))
