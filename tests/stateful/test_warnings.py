"""Warnings of a server against the list of all that were logged."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.client._warnings import Warnings
from kinformer.hooks import WarningReceived
from tests.stateful.heard import Diary, Lines

REMEMBERED = 1000
TEXTS = st.sampled_from(["use v2", 'say "hi"', "back\\slash", 'a, 299 - "b"', "", "\\"])
OTHERS = st.sampled_from(["", '199 - "not for us"', "299 - garbage"])


class WarningsMachine(RuleBasedStateMachine):
    """The hooks hear all; the log has each text once, until so many are known that they are forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks, self.log = Diary(), Lines("kinformer.client")
        self.warnings = Warnings(self.hooks)
        self.known: dict[str, None] = {}
        self.made = 0
        self.events: list[object] = []
        self.lines: list[tuple[str, str]] = []

    def expect(self, path: str, text: str) -> None:
        self.events.append(WarningReceived(path, text))
        if text in self.known:
            return
        if len(self.known) == REMEMBERED:
            self.known = {}
        self.known[text] = None
        self.lines.append(("WARNING", f"{path}: the server warns: {text}"))

    @rule(
        path=st.sampled_from(["/a", "/b"]),
        headers=st.lists(st.lists(TEXTS, max_size=3), max_size=2),
        other=OTHERS,
    )
    def answer(self, path: str, headers: list[list[str]], other: str) -> None:
        self.warnings.take(path, [*(", ".join(map(value_of, texts)) for texts in headers), other])
        for texts in headers:
            for text in texts:
                self.expect(path, text)

    @rule(count=st.sampled_from([1, 400, 999]))
    def answer_with_new_ones(self, count: int) -> None:
        for _ in range(count):
            self.made += 1
            self.warnings.take("/c", [value_of(f"{self.made}")])
            self.expect("/c", f"{self.made}")

    @invariant()
    def all_are_heard_and_each_is_logged_once(self) -> None:
        assert self.hooks.events == self.events
        assert self.log.lines == self.lines
        assert len(self.warnings._seen) <= REMEMBERED

    def teardown(self) -> None:
        self.log.leave()


def value_of(text: str) -> str:
    """As RFC 7234 writes a warning."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'299 - "{escaped}"'


TestWarnings = WarningsMachine.TestCase
TestWarnings.settings = settings(max_examples=15, stateful_step_count=10)
