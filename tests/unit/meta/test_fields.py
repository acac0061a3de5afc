import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import FieldRequirement, FieldSelector

paths = st.from_regex(r"[a-z]{1,5}(\.[a-zA-Z]{1,5}){0,3}", fullmatch=True)
requirements = st.builds(FieldRequirement, paths, st.text(max_size=8), st.booleans())
selectors = st.lists(requirements, max_size=4).map(lambda found: FieldSelector(tuple(found)))


@given(selectors)
def test_a_selector_reads_what_it_prints_whatever_the_values(selector: FieldSelector) -> None:
    assert FieldSelector.parse(str(selector)) == selector


@given(requirements, st.dictionaries(paths, st.text(max_size=3), max_size=3))
def test_an_absent_field_is_the_empty_string(requirement: FieldRequirement, fields: dict[str, str]) -> None:
    filled = {requirement.path: ""} | fields
    assert requirement.matches(fields) == requirement.matches(filled)
    assert requirement.matches(fields) != FieldRequirement(
        requirement.path, requirement.value, not requirement.negated
    ).matches(fields)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (",,", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b,", "a!=b"),
        ("a=", "a="),
        (r"a=b\,c\=d\\e", r"a=b\,c\=d\\e"),
        ("metadata.name=x,metadata.name=x", "metadata.name=x,metadata.name=x"),
    ],
)
def test_the_grammar_is_that_of_kubernetes(text: str, printed: str) -> None:
    assert str(FieldSelector.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "'a' must be of the form path=value"),
        ("=b", "field path ''"),
        ("a=b=c", "unescaped '='"),
        (r"a=\x", r"unknown escape '\\x'"),
        ("a=b\\", "ends in a lone backslash"),
    ],
)
def test_what_does_not_follow_the_grammar_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        FieldSelector.parse(text)


def test_the_value_that_a_field_must_have_can_be_asked_for() -> None:
    selector = FieldSelector.parse("metadata.name!=a,metadata.name=b")
    assert selector.exact("metadata.name") == "b"
    assert selector.exact("metadata.namespace") is None
    assert FieldSelector.from_fields({"a": "1"}) == FieldSelector.parse("a=1")


def test_what_is_no_text_is_named() -> None:
    with pytest.raises(TypeError, match=r"field 'spec\.replicas': 1 must be text"):
        FieldSelector.from_fields({"spec.replicas": 1})  # type: ignore[dict-item]
