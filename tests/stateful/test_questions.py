"""Questions against the plainest model: what was written in good form comes out, however the network cuts it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.observe._questions import Question, Questions

PATHS = st.sampled_from(["/", "/healthz", "/debug.json", "/x/y"])
HEADERS = st.lists(st.sampled_from([b"Host: a", b"Accept: */*", b"X-Long: " + b"y" * 50]), max_size=3)


class Asking(RuleBasedStateMachine):
    """A client asks, and the network brings it in pieces. ``ends`` says after which byte each question is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = Questions()
        self.sent = b""
        self.read = 0
        self.ends: list[tuple[int, Question]] = []
        self.asked: list[Question] = []
        self.over_at = 10**9
        self.broken_at = 10**9

    @precondition(lambda self: self.over_at == 10**9)
    @rule(
        method=st.sampled_from(["GET", "HEAD", "POST"]),
        path=PATHS,
        query=st.sampled_from(["", "?a=b"]),
        headers=HEADERS,
        ending=st.sampled_from(["stays", "stays", "stays", "closes", "has a body"]),
    )
    def ask(self, method: str, path: str, query: str, headers: list[bytes], ending: str) -> None:
        lines = [f"{method} {path}{query} HTTP/1.1".encode(), *headers]
        lines += {"closes": [b"Connection: close"], "has a body": [b"Content-Length: 3"]}.get(ending, [])
        self.sent += b"\r\n".join(lines) + b"\r\n\r\n"
        may_stay = ending == "stays"
        self.ends.append((len(self.sent), Question(method, path, may_stay)))
        if not may_stay:
            self.over_at = len(self.sent)
            self.sent += b"abc"

    @precondition(lambda self: self.over_at == 10**9)
    @rule()
    def babble(self) -> None:
        self.broken_at = self.over_at = len(self.sent) + 1
        self.sent += b"\x00nonsense"

    @rule(size=st.integers(0, 120))
    def arrive(self, size: int) -> None:
        piece = self.sent[self.read : self.read + size]
        self.read += len(piece)
        self.asked += self.questions.feed(piece)

    @invariant()
    def what_is_whole_has_come_out_and_no_more(self) -> None:
        assert self.asked == [question for end, question in self.ends if end <= self.read]

    @invariant()
    def it_is_over_when_the_client_said_so_or_made_no_sense(self) -> None:
        assert self.questions.is_over == (self.read >= self.over_at)
        assert bool(self.questions.failure) == (self.read >= self.broken_at)

    @invariant()
    def it_is_midway_in_the_middle_of_a_question(self) -> None:
        starts = [0, *(end for end, _ in self.ends)]
        assert self.questions.is_midway == (self.read not in starts and self.read < self.over_at)


TestAsking = Asking.TestCase
TestAsking.settings = settings(max_examples=25)
