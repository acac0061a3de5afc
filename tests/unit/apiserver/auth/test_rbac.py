import pytest

from kinformer.apiserver import Rbac, User


def test_the_admin_is_a_master_and_the_token_is_made_up() -> None:
    rbac = Rbac()
    admin = rbac.user_of(rbac.admin_token)
    assert admin is not None
    assert admin.is_master
    assert Rbac().admin_token != rbac.admin_token


def test_no_token_stands_in_a_repr() -> None:
    rbac = Rbac(admin_token="hidden", tokens={"secret": User("jane")})
    assert "hidden" not in repr(rbac)
    assert "secret" not in repr(rbac)


def test_a_token_is_its_users_who_is_authenticated_by_it() -> None:
    user = Rbac(tokens={"t": User("jane", ("dev",), "u1")}).user_of("t")
    assert user == User("jane", ("dev", "system:authenticated"), "u1")


def test_other_tokens_are_nobodys() -> None:
    assert Rbac().user_of("t") is None
    assert Rbac().user_of("ä") is None


@pytest.mark.parametrize("token", ["", "two words", "ä", "a\nb"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="a token must be"):
        Rbac(tokens={token: User("jane")})
    with pytest.raises(ValueError, match="a token must be"):
        Rbac(admin_token=token)
