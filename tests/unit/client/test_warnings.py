import pytest

from kinformer.client._warnings import Warnings
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
