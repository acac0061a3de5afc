"""The line splitter against all bytes so far, split at once."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.client._lines import LineSplitter
from kinformer.errors import DecodeError

LIMIT = 6


class LinesMachine(RuleBasedStateMachine):
    """Chunks of anything, many line ends among them; a line that is too long is refused by the chunk that makes it so."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = LineSplitter(LIMIT)
        self.read = b""
        self.told: list[bytes] = []
        self.is_refused = False

    @rule(chunk=st.lists(st.sampled_from([b"a", b"\r", b"\xff", b"\n", b"\n"]), max_size=9).map(b"".join))
    def feed(self, chunk: bytes) -> None:
        if self.is_refused:
            return
        self.read += chunk
        try:
            self.told += self.lines.feed(chunk)
        except DecodeError:
            self.is_refused = True

    @rule()
    def finish_and_begin_anew(self) -> None:
        if not self.is_refused:
            assert self.lines.finish() == self.read.split(b"\n")[-1]
            assert self.lines.finish() == b""
        else:
            self.lines = LineSplitter(LIMIT)
        self.read, self.told, self.is_refused = b"", [], False

    @invariant()
    def whole_lines_come_out_and_long_ones_are_refused(self) -> None:
        lines = self.read.split(b"\n")
        assert self.is_refused == any(len(line) > LIMIT for line in lines)
        if not self.is_refused:
            assert self.told == lines[:-1]


TestLines = LinesMachine.TestCase
