from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import LabelOperator, LabelRequirement, LabelSelector

names = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?", fullmatch=True)
keys = st.one_of(
    names,
    st.sampled_from(["in", "notin", "example.com/in"]),
    st.builds("{}/{}".format, st.from_regex(r"[a-z0-9]{1,4}(\.[a-z]{1,3}){0,2}", fullmatch=True), names),
)
values = st.one_of(st.just(""), names, st.sampled_from(["in", "notin"]))


@st.composite
def requirements(draw: st.DrawFn) -> LabelRequirement:
    operator: LabelOperator = draw(st.sampled_from(LabelOperator))
    match operator:
        case LabelOperator.IN | LabelOperator.NOT_IN:
            found = tuple(draw(st.lists(values, min_size=1, max_size=4)))
        case LabelOperator.EXISTS | LabelOperator.NOT_EXISTS:
            found = ()
        case LabelOperator.GREATER | LabelOperator.LESS:
            found = (str(draw(st.integers(-(2**63), 2**63 - 1))),)
        case LabelOperator.EQUALS | LabelOperator.NOT_EQUALS:
            found = (draw(values),)
    return LabelRequirement(draw(keys), operator, found)


selectors = st.lists(requirements(), max_size=4).map(lambda found: LabelSelector(tuple(found)))


@given(selectors)
def test_a_selector_reads_what_it_prints(selector: LabelSelector) -> None:
    assert LabelSelector.parse(str(selector)) == selector


@given(selectors)
def test_white_space_between_tokens_does_not_matter(selector: LabelSelector) -> None:
    spaced = str(selector).replace(",", " ,\t").replace("(", "(\n ").replace(")", " )")
    assert LabelSelector.parse(f"  {spaced}\r\n") == selector


@given(requirements(), st.dictionaries(keys, values, max_size=4))
def test_negative_operators_are_the_opposite_of_positive_ones(
    requirement: LabelRequirement, labels: dict[str, str]
) -> None:
    opposite = {
        LabelOperator.IN: LabelOperator.NOT_IN,
        LabelOperator.EQUALS: LabelOperator.NOT_EQUALS,
        LabelOperator.EXISTS: LabelOperator.NOT_EXISTS,
    }.get(requirement.operator)
    if opposite:
        other = LabelRequirement(requirement.key, opposite, requirement.values)
        assert requirement.matches(labels) is not other.matches(labels)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in ()", {"a": ""}, True),
        ("a in (,b)", {"a": ""}, True),
        ("a notin (b)", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("! a", {}, True),
        ("a>5", {"a": "6"}, True),
        ("a>5", {"a": "5"}, False),
        ("a<5", {"a": "four"}, False),
        ("a<5", {}, False),
        ("a<-5", {"a": "-6"}, True),
        ("a in (in), notin in (notin)", {"a": "in", "notin": "notin"}, True),
        ("a=b,c=d", {"a": "b"}, False),
    ],
)
def test_a_selector_matches_as_kubernetes_does(text: str, labels: dict[str, str], matches: bool) -> None:
    assert LabelSelector.parse(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,", "found '', expected: !, identifier"),
        (",a", "found ',', expected: !, identifier"),
        ("a b", "found 'b', expected: in, notin"),
        ("a in b", r"found 'b', expected: '\('"),
        ("a in (b", r"found '', expected: ',' or '\)'"),
        ("a=b c", "found 'c', expected: ','"),
        ("a>b", "'b' must be a 64-bit integer"),
        ("a>", "found '', expected: integer"),
        ("!", "found '', expected: identifier"),
        ("-a=b", "label key '-a'"),
        ("a=-b", "label 'a': value '-b'"),
        ("UPPER.com/x=1", "label key 'UPPER.com/x'"),
        ("a=" + "v" * 64, "at most 63"),
        ("a=ä", "label 'a': value 'ä'"),
    ],
)
def test_what_does_not_follow_the_grammar_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        LabelSelector.parse(text)


def test_the_form_inside_objects_gives_the_same_selector() -> None:
    selector = LabelSelector.from_object(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["b", "a"]},
                {"key": "old", "operator": "DoesNotExist"},
            ],
        }
    )
    assert str(selector) == "app=web,tier in (a,b),!old"
    assert LabelSelector.from_object({}).matches({"any": "thing"})


def test_an_unknown_operator_inside_an_object_is_named_with_the_right_ones() -> None:
    with pytest.raises(ValueError, match="operator 'Is' must be one of In, NotIn, Exists, DoesNotExist"):
        LabelSelector.from_object({"matchExpressions": [{"key": "a", "operator": "Is"}]})


@pytest.mark.parametrize(
    ("operator", "given"),
    [(LabelOperator.IN, ()), (LabelOperator.EXISTS, ("a",)), (LabelOperator.EQUALS, ("a", "b"))],
    ids=["none", "too many", "two"],
)
def test_an_operator_takes_its_own_number_of_values(operator: LabelOperator, given: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"operator '{operator.value}' takes"):
        LabelRequirement("a", operator, given)


@pytest.mark.parametrize(
    ("selector", "complaint"),
    [
        ({"matchLabel": {"a": "b"}}, "not matchLabel$"),
        ({"matchLabels": {"a": 1}}, r"label 'a': the values must be a list of texts, not \(1,\)"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": "web"}]}, "not 'web'"),
        ({"matchExpressions": [{"key": 5, "operator": "Exists"}]}, "label key 5 must be text"),
    ],
    ids=["typo", "number", "text for a list", "no text"],
)
def test_a_selector_inside_an_object_that_is_not_one_is_named(
    selector: dict[str, Any], complaint: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        LabelSelector.from_object(selector)


def test_an_operator_may_be_written_out_and_an_unknown_one_is_named() -> None:
    assert LabelRequirement("a", "in", ("b",)) == LabelRequirement("a", LabelOperator.IN, ("b",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'like' is not a valid LabelOperator"):
        LabelRequirement("a", "like", ("b",))  # type: ignore[arg-type]
