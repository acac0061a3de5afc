import pytest

from kinformer.client import Impersonation


def test_each_fact_has_its_header() -> None:
    impersonation = Impersonation(
        "jane",
        "u-1",
        ("dev", "ops"),
        {"scopes": ["a", "b"], "acme.com/project": ["p"], "50%": ["é".encode().hex()]},
    )
    assert impersonation.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "u-1"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "a"),
        ("Impersonate-Extra-scopes", "b"),
        ("Impersonate-Extra-acme.com%2Fproject", "p"),
        ("Impersonate-Extra-50%25", "c3a9"),
    )


def test_a_user_is_enough() -> None:
    assert Impersonation("jane").headers == (("Impersonate-User", "jane"),)


def test_groups_without_a_user_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a user"):
        Impersonation("", groups=("dev",))


@pytest.mark.parametrize(
    ("user", "groups", "extra", "field"),
    [
        ("jane\r\nX: y", (), {}, "Impersonate-User"),
        ("jäne", (), {}, "Impersonate-User"),
        ("jane", ("a\nb",), {}, "Impersonate-Group"),
        ("jane", (), {"k": ["\x00"]}, "Impersonate-Extra-k"),
    ],
)
def test_what_no_header_can_carry_is_refused(
    user: str, groups: tuple[str, ...], extra: dict[str, list[str]], field: str
) -> None:
    with pytest.raises(ValueError, match=f"{field}: .* no header can carry"):
        Impersonation(user, groups=groups, extra=extra)
