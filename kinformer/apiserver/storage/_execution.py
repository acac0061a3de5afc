"""What a transaction does to the revisions: pure, and all of it or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq, gt, lt, ne

from kinformer.apiserver.storage._keys import KeyValue
from kinformer.apiserver.storage._mvcc import Mvcc
from kinformer.apiserver.storage._transactions import (
    Compare,
    Delete,
    DeleteResult,
    Put,
    PutResult,
    Read,
    Result,
    Transaction,
    TransactionResult,
    check_transaction,
)

__all__ = ["execute"]

_OPERATORS = {"=": eq, "!=": ne, "<": lt, ">": gt}
_MISSING = KeyValue("", b"", 0, 0, 0)


def execute(core: Mvcc, transaction: Transaction) -> TransactionResult:
    """Stage what a transaction does; committing it is left to the caller.

    Everything that can be wrong is found before the first change is made.

    Raises:
        TransactionError: It can never be carried out.
        CompactedError: What would run reads a revision that is too old.
        FutureRevisionError: What would run reads a revision that is yet to come.
    """
    check_transaction(transaction)
    steps = _plan(core, transaction)
    _check_reads(core, steps)
    return _run(core, steps)


@dataclass(frozen=True, slots=True)
class _Steps:
    """A transaction whose branch is chosen."""

    is_met: bool
    operations: "Sequence[Read | Put | Delete | _Steps]"


def _plan(core: Mvcc, transaction: Transaction) -> _Steps:
    is_met = all(_holds(core, compare) for compare in transaction.compares)
    branch = transaction.then if is_met else transaction.otherwise
    return _Steps(is_met, [_plan(core, each) if isinstance(each, Transaction) else each for each in branch])


def _check_reads(core: Mvcc, steps: _Steps) -> None:
    for each in steps.operations:
        if isinstance(each, _Steps):
            _check_reads(core, each)
        elif isinstance(each, Read):
            core.check(each.revision)


def _run(core: Mvcc, steps: _Steps) -> TransactionResult:
    results: list[Result] = []
    for each in steps.operations:
        match each:
            case Read(keys, revision, limit, count_only):
                results.append(core.range(keys, revision=revision, limit=limit, count_only=count_only))
            case Put(key, value):
                results.append(PutResult(core.put(key, value).previous))
            case Delete(keys):
                removed = [change.previous for change in core.delete(keys)]
                results.append(DeleteResult(tuple(value for value in removed if value is not None)))
            case _Steps():
                results.append(_run(core, each))
    return TransactionResult(steps.is_met, core.head, tuple(results))


def _holds(core: Mvcc, compare: Compare) -> bool:
    found = core.range(compare.keys).items
    if not found and compare.target == "value":
        return False
    operator = _OPERATORS[compare.operator]
    return all(operator(getattr(value, compare.target), compare.operand) for value in found or (_MISSING,))
