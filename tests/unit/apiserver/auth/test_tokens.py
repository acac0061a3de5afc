from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.apiserver.auth._tokens import Claims, Tokens

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLAIMS = Claims("shop", "cart", "u1", NOW + timedelta(hours=1))
TOKENS = Tokens(b"secret")
TOKEN = TOKENS.sign(CLAIMS, NOW)


def test_a_token_says_what_it_was_signed_for() -> None:
    assert TOKENS.read(TOKEN, NOW) == CLAIMS


def test_a_token_has_the_shape_of_a_real_one() -> None:
    assert TOKEN.startswith("eyJ")
    assert TOKEN.count(".") == 2


def test_it_is_good_until_the_moment_that_it_names() -> None:
    assert TOKENS.read(TOKEN, CLAIMS.expires - timedelta(seconds=1)) == CLAIMS
    assert TOKENS.read(TOKEN, CLAIMS.expires) is None


def test_it_is_good_for_its_audiences_only() -> None:
    other = Claims("shop", "cart", "u1", CLAIMS.expires, ("vault",))
    token = TOKENS.sign(other, NOW)
    assert TOKENS.read(token, NOW) is None
    assert TOKENS.read(token, NOW, ["vault", "x"]) == other


def test_another_secret_knows_it_not() -> None:
    assert Tokens(b"other").read(TOKEN, NOW) is None


@given(at=st.integers(0, len(TOKEN) - 1), letter=st.sampled_from("aZ0._-=\u00e4 "))
def test_a_changed_token_is_worth_nothing(at: int, letter: str) -> None:
    changed = TOKEN[:at] + letter + TOKEN[at + 1 :]
    assert changed == TOKEN or TOKENS.read(changed, NOW) is None


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "x" * 100])
def test_what_is_no_token_is_worth_nothing(token: str) -> None:
    assert TOKENS.read(token, NOW) is None
