import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client._warnings import Warnings, parse_warnings
from kinformer.hooks import NoHooks, WarningReceived


class Ear(NoHooks):
    def __init__(self) -> None:
        self.heard: list[WarningReceived] = []

    def warning_received(self, event: WarningReceived, /) -> None:
        self.heard.append(event)


def test_the_hooks_hear_each_warning_and_the_log_each_text_once(caplog: pytest.LogCaptureFixture) -> None:
    ear = Ear()
    warnings = Warnings(ear)
    for path in ("/a", "/b"):
        warnings.take(path, ['299 - "use v2"'])
    assert ear.heard == [WarningReceived("/a", "use v2"), WarningReceived("/b", "use v2")]
    assert [record.getMessage() for record in caplog.records] == ["/a: the server warns: use v2"]


@pytest.mark.parametrize(
    ("headers", "texts"),
    [
        ([], []),
        (['299 - "a"', '299 kube "b"'], ["a", "b"]),
        (['299 - "a", 299 - "b, c"'], ["a", "b, c"]),
        ([r'299 - "say \"hi\" \\ bye"'], [r'say "hi" \ bye']),
        (['199 - "not for us"'], []),
        (["299 - garbage"], []),
        (['1299 - "no code"'], []),
        (['199 - "not for us", 299 - "for us"'], ["for us"]),
        ([r'199 - "say 299 - \"hi\"", 299 - "b"'], ["b"]),
        (['299 - "a" "Thu, 01 Dec 1994 16:00:00 GMT", 299 - "b"'], ["a", "b"]),
        (['299 - "a",299 - "b"'], ["a", "b"]),
        (['299 - "a", garbage, 299 - "b"'], ["a"]),
        (['299 - "a" , 299 - "not ended'], ["a"]),
        ([r'299 - "ends with a backslash \\"'], ["ends with a backslash \\"]),
        (['299 - "\x1b[31mred\x1b[0m"'], [" [31mred [0m"]),
        (['299 - "gr\u00fc\u00dfe"'], ["gr\u00fc\u00dfe"]),
    ],
)
def test_headers_are_read_as_rfc_7234_writes_them(headers: list[str], texts: list[str]) -> None:
    ear = Ear()
    Warnings(ear).take("/", headers)
    assert [event.text for event in ear.heard] == texts


def test_the_memory_for_texts_is_bounded() -> None:
    warnings = Warnings(NoHooks())
    for number in range(2500):
        warnings.take("/", [f'299 - "{number}"'])
    assert len(warnings._seen) <= 1000


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["299", "199", "214"]),
            st.text("abc-:.", min_size=1),
            st.text(st.characters(categories=["L", "N", "P", "S"], include_characters=' ,"\\')),
            st.sampled_from(["", ' "Thu, 01 Dec 1994 16:00:00 GMT"']),
        )
    )
)
def test_whatever_the_grammar_allows_is_read(warnings: list[tuple[str, str, str, str]]) -> None:
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"')

    header = ", ".join(f'{code} {agent} "{quoted(text)}"{date}' for code, agent, text, date in warnings)
    assert list(parse_warnings(header)) == [text for code, _, text, _ in warnings if code == "299"]


@pytest.mark.parametrize(
    "header", ['299 - "' + "\\" * 100_000, '299 - "' + "a" * 100_000, " " * 100_000, '299 - "a"' * 20_000]
)
def test_a_header_that_never_ends_well_is_read_in_no_time(header: str) -> None:
    assert list(parse_warnings(header)) in ([], ["a"])
