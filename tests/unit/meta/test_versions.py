import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import is_at_least


@given(st.integers(1, 10**30), st.integers(1, 10**30))
def test_versions_compare_as_numbers(version: int, floor: int) -> None:
    assert is_at_least(str(version), str(floor)) == (version >= floor)


@pytest.mark.parametrize("text", ["", "0", "01", "abc", "-1", "1.5", "\uff11"])
def test_what_is_no_decimal_number_is_not_compared(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        is_at_least(text, "1")
    with pytest.raises(ValueError, match="cannot be compared"):
        is_at_least("1", text)
