"""What a transaction may be, whatever the storage holds."""

import pytest

from kinformer.apiserver.storage import Compare, Delete, KeyRange, Put, Read, Transaction, TransactionError
from kinformer.apiserver.storage._transactions import check_transaction

A, B = Put("a", b""), Put("b", b"")
DELETE_A, READ_A = Delete(KeyRange.key("a")), Read(KeyRange.key("a"))


@pytest.mark.parametrize(
    "transaction",
    [
        pytest.param(Transaction(then=[A, B, READ_A]), id="different keys"),
        pytest.param(Transaction(then=[A], otherwise=[A]), id="only one branch runs"),
        pytest.param(Transaction(then=[DELETE_A, DELETE_A]), id="nothing is deleted twice"),
        pytest.param(
            Transaction(then=[Transaction(then=[A], otherwise=[A, B])]),
            id="nested branches exclude each other",
        ),
        pytest.param(
            Transaction(then=[Transaction(then=[A], otherwise=[DELETE_A])]), id="nested put or delete"
        ),
        pytest.param(Transaction(then=[Put(str(n), b"") for n in range(128)]), id="as long as can be"),
    ],
)
def test_a_key_is_written_once(transaction: Transaction) -> None:
    check_transaction(transaction)


@pytest.mark.parametrize(
    "transaction",
    [
        pytest.param(Transaction(then=[A, A]), id="two puts"),
        pytest.param(Transaction(otherwise=[A, A]), id="in the other branch"),
        pytest.param(Transaction(then=[A, DELETE_A]), id="put, then delete"),
        pytest.param(Transaction(then=[Delete(KeyRange.prefix("")), A]), id="delete, then put"),
        pytest.param(Transaction(then=[A, Transaction(otherwise=[A])]), id="a nested put"),
        pytest.param(Transaction(then=[A, Transaction(otherwise=[DELETE_A])]), id="a nested delete"),
        pytest.param(
            Transaction(then=[Transaction(then=[A]), Transaction(then=[DELETE_A])]), id="nested side by side"
        ),
        pytest.param(
            Transaction(then=[DELETE_A, Transaction(then=[A])]), id="a nested put of what is deleted"
        ),
    ],
)
def test_a_key_that_is_written_twice_is_refused_by_name(transaction: Transaction) -> None:
    with pytest.raises(TransactionError, match="'a'"):
        check_transaction(transaction)


def test_the_number_of_operations_is_bounded_and_nested_ones_have_the_rest() -> None:
    many = [Put(str(number), b"") for number in range(127)]
    check_transaction(Transaction(then=[Transaction(then=many)]))
    with pytest.raises(
        TransactionError, match="129 operations in a transaction are too many, the most is 128"
    ):
        check_transaction(Transaction(then=[*many, A, B]))
    with pytest.raises(
        TransactionError, match="127 operations in a transaction are too many, the most is 126"
    ):
        check_transaction(Transaction(then=[Transaction(then=many), READ_A]))


def test_a_value_is_compared_with_bytes_and_the_rest_with_numbers() -> None:
    with pytest.raises(TypeError, match="operand 1 must be bytes, as value is"):
        Compare(KeyRange.key("a"), "value", "=", 1)
    with pytest.raises(TypeError, match="must be a number, as version is"):
        Compare(KeyRange.key("a"), "version", "=", b"1")
