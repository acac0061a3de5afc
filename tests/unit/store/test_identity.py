"""One object, one version, one state."""

import pytest

from kinformer.meta import Record
from kinformer.store._identity import is_one_object, is_one_state, is_one_version
from tests.unit.store.stage import record

CASES = {
    "the same": (record("a"), record("a"), (True, True, True)),
    "of one version with other bytes": (record("a", spec=1), record("a", spec=2), (True, True, True)),
    "a later state": (record("a", "1"), record("a", "2"), (True, False, False)),
    "another object of the same version": (record("a", uid="u"), record("a", uid="v"), (False, False, False)),
    "the same without versions": (record("a", ""), record("a", ""), (True, False, True)),
    "changed without versions": (record("a", "", spec=1), record("a", "", spec=2), (True, False, False)),
}


@pytest.mark.parametrize(("first", "second", "expected"), CASES.values(), ids=CASES)
def test_what_two_records_have_to_do_with_each_other(
    first: Record, second: Record, expected: tuple[bool, bool, bool]
) -> None:
    found = (is_one_object(first, second), is_one_version(first, second), is_one_state(first, second))
    assert found == expected
