"""Which names stand for service accounts."""

import pytest

from kinformer.apiserver.auth._users import account_of, service_account


def test_the_user_of_an_account_stands_for_it() -> None:
    assert account_of(service_account("shop", "cart").name) == ("shop", "cart")


@pytest.mark.parametrize(
    "name", ["jane", "system:serviceaccount:shop", "system:serviceaccount:shop:a:b", "shop:cart"]
)
def test_others_are_users_like_any(name: str) -> None:
    assert account_of(name) is None
