import pytest

from kinformer.client import Fields, Labels
from kinformer.client._filters import EVERYTHING, Filters
from kinformer.meta import FieldSelector, LabelSelector


@pytest.mark.parametrize("labels", ["app=web", LabelSelector.parse("app=web"), {"app": "web"}])
def test_labels_may_be_text_or_parsed_or_a_mapping(labels: Labels) -> None:
    assert EVERYTHING.but(None, labels, None).params == {"labelSelector": "app=web"}


@pytest.mark.parametrize(
    "fields", ["spec.nodeName=a", FieldSelector.parse("spec.nodeName=a"), {"spec.nodeName": "a"}]
)
def test_fields_may_be_text_or_parsed_or_a_mapping(fields: Fields) -> None:
    assert EVERYTHING.but(None, None, fields).params == {"fieldSelector": "spec.nodeName=a"}


def test_what_is_left_out_stays_and_what_is_empty_goes() -> None:
    filters = Filters("default", "a=b", "c=d")
    assert filters.but(None, None, None) == filters
    assert filters.but("", "", "") == EVERYTHING
    assert filters.but("kube-system", {}, None) == Filters("kube-system", "", "c=d")


@pytest.mark.parametrize(("labels", "fields"), [("a in", None), ({"-": "b"}, None), (None, "nonsense")])
def test_a_bad_selector_is_refused(labels: Labels | None, fields: Fields | None) -> None:
    with pytest.raises(ValueError, match=r"unable to parse|label key|invalid field selector"):
        EVERYTHING.but(None, labels, fields)
