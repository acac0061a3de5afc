import pytest

from kinformer.apiserver.http._reviews import REVIEWS, answer
from kinformer.apiserver.registry import Served


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review.kind)
def test_every_review_is_answered_with_a_status_r_6(review: Served) -> None:
    reply = answer(review, {"metadata": {"name": "x"}, "spec": {"user": "u"}})
    assert (reply["kind"], reply["metadata"], reply["spec"]) == (review.kind, {"name": "x"}, {"user": "u"})
    assert reply["status"]


def test_an_empty_review_is_answered_too() -> None:
    assert answer(REVIEWS[0], {})["spec"] == {}
