"""Transactions: conditions, and what is done as one revision where they hold, or where they do not.

The rules are etcd's: https://etcd.io/docs/v3.5/learning/api/#transaction
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kinformer.apiserver.storage._errors import TransactionError
from kinformer.apiserver.storage._keys import KeyRange, KeyValue

__all__ = [
    "Compare",
    "Delete",
    "DeleteResult",
    "Operation",
    "Put",
    "PutResult",
    "Read",
    "ReadResult",
    "Result",
    "Transaction",
    "TransactionResult",
    "check_transaction",
]

_MOST_OPERATIONS: Final = 128
"""etcd's ``--max-txn-ops``: of conditions, and of operations in a branch with what is nested in it."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A condition on a key, or on each key of a range.

    A key that does not exist counts as zero in all numbers; no condition on its value holds.
    """

    keys: KeyRange
    target: Literal["version", "create_revision", "mod_revision", "value"]
    operator: Literal["=", "!=", "<", ">"]
    operand: int | bytes

    def __post_init__(self) -> None:
        if isinstance(self.operand, bytes) is not (self.target == "value"):
            wanted = "bytes" if self.target == "value" else "a number"
            raise TypeError(f"operand {self.operand!r} must be {wanted}, as {self.target} is")


@dataclass(frozen=True, slots=True)
class Read:
    """Read keys, as they are after the operations before this one; see ``KV.range``."""

    keys: KeyRange
    revision: int = 0
    limit: int = 0
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """Write a key."""

    key: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove all keys of a range."""

    keys: KeyRange


@dataclass(frozen=True, slots=True)
class Transaction:
    """Do ``then`` where every condition holds, else ``otherwise``; inside another one it is an operation.

    All conditions, those of nested ones too, are asked of what was there before.
    """

    compares: Sequence[Compare] = ()
    then: Sequence["Operation"] = ()
    otherwise: Sequence["Operation"] = ()


Operation = Read | Put | Delete | Transaction


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A piece of the key space at one revision.

    Attributes:
        items: In order of keys; empty where only their number was asked for.
        revision: The revision of the last change of the whole storage, not the one that was asked for.
        count: How many keys the range has, whatever the limit.
    """

    items: tuple[KeyValue, ...]
    revision: int
    count: int

    @property
    def remaining(self) -> int:
        """How many keys of the range follow the last item."""
        return self.count - len(self.items)


@dataclass(frozen=True, slots=True)
class PutResult:
    """What the key held before; ``None`` where it did not exist."""

    previous: KeyValue | None


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """What was removed, in order of keys."""

    previous: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """What a transaction did.

    Attributes:
        is_met: Whether the conditions held.
        revision: The revision that it made, or the current one where it changed nothing.
        results: Of the operations that were done, one for each.
    """

    is_met: bool
    revision: int
    results: tuple["Result", ...]


Result = ReadResult | PutResult | DeleteResult | TransactionResult


def check_transaction(transaction: Transaction) -> None:
    """Check what does not depend on the content of the storage.

    Raises:
        TransactionError: A branch writes a key twice, or there are too many operations.
    """
    _check_length(transaction, _MOST_OPERATIONS)
    for branch in (transaction.then, transaction.otherwise):
        _writes(branch)


def _check_length(transaction: Transaction, most: int) -> None:
    longest = max(len(transaction.compares), len(transaction.then), len(transaction.otherwise))
    if longest > most:
        raise TransactionError(f"{longest} operations in a transaction are too many, the most is {most}")
    for operation in (*transaction.then, *transaction.otherwise):
        if isinstance(operation, Transaction):
            _check_length(operation, most - longest)


def _writes(branch: Sequence[Operation]) -> tuple[set[str], list[KeyRange]]:
    """The keys that a branch puts, and the ranges that it deletes."""
    puts: set[str] = set()
    deletes = [each.keys for each in branch if isinstance(each, Delete)]

    def add(keys: set[str], deleted: list[KeyRange]) -> None:
        for key in keys:
            if key in puts or any(key in each for each in deletes):
                raise TransactionError(f"key {key!r} is written twice in one transaction")
        for key in puts:
            if any(key in each for each in deleted):
                raise TransactionError(f"key {key!r} is written and deleted in one transaction")
        puts.update(keys)
        deletes.extend(deleted)

    for each in branch:
        if isinstance(each, Transaction):
            nested = [_writes(each.then), _writes(each.otherwise)]  # which never run both
            add(nested[0][0] | nested[1][0], nested[0][1] + nested[1][1])
    for each in branch:
        if isinstance(each, Put):
            add({each.key}, [])
    return puts, deletes
