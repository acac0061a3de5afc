import pytest

from kinformer.apiserver.http._query import Query
from kinformer.apiserver.registry import StatusError


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("", None),
        ("other=1", None),
        ("watch=true", True),
        ("watch=True", True),
        ("watch=1", True),
        ("watch", True),
        ("watch=", True),
        ("watch=no", True),
        ("watch=false", False),
        ("watch=FALSE", False),
        ("watch=0", False),
        ("watch=false&watch=true", False),
    ],
)
def test_a_flag_is_read_as_h_6_says(text: str, flag: bool | None) -> None:
    assert Query(text).flag("watch") is flag


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", None),
        ("limit=", None),
        ("limit=5", 5),
        ("limit=-1", -1),
        ("limit=%2B5", 5),
        ("limit=1&limit=2", 1),
    ],
)
def test_a_number_is_read(text: str, number: int | None) -> None:
    assert Query(text).number("limit") == number


@pytest.mark.parametrize("value", ["x", "1.5", "1_000", "0x10", "9" * 30])
def test_a_number_that_is_none_is_a_400_that_names_it(value: str) -> None:
    with pytest.raises(StatusError, match=f"limit.*{value}") as caught:
        Query(f"limit={value}").number("limit")
    assert caught.value.code == 400


def test_texts_are_decoded_and_the_first_counts() -> None:
    query = Query("labelSelector=a%3Db%2Cc&labelSelector=x&fieldSelector=a+b&dryRun=All&dryRun=x")
    assert query.text("labelSelector") == "a=b,c"
    assert query.text("fieldSelector") == "a b"
    assert query.text("missing") == ""
    assert query.all("dryRun") == ["All", "x"]
    assert query.all("missing") == []
