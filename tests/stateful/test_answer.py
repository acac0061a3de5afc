"""An answer against the plainest model: each byte is known, when it is written, to be of the body or around it."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.client._stream._answer import Answer

HEADERS = st.lists(
    st.tuples(st.sampled_from([b"A", b"x-b", b"Audit-Id"]), st.sampled_from([b"", b"1", b"a, b; c"])),
    max_size=3,
)
BODY = st.binary(max_size=40) | st.sampled_from([b"\r\n", b"0\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])


class Answering(RuleBasedStateMachine):
    """A server writes in good form, the network cuts as it likes, and the connection may end at any time.

    ``sent`` has what was written as pairs of a byte and whether it is of the body; ``read`` is how much has arrived.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answer = Answer()
        self.sent: list[tuple[int, bool]] = []
        self.read = 0
        self.body = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.head_at = self.end_at = 10**9  # bytes after which the head, and the whole, are there
        self.surplus_at = 10**9
        self.left = 0
        self.framing = ""
        self.is_kept = True
        self.has_ended = False
        self.is_spoilt_at = 10**9

    def write(self, data: bytes, *, is_body: bool = False) -> None:
        self.sent += [(byte, is_body) for byte in data]

    @initialize(
        interim=st.lists(st.sampled_from([100, 102, 103, 199]), max_size=2),
        status=st.sampled_from([200, 201, 204, 304, 404, 410, 500]),
        headers=HEADERS,
        framing=st.sampled_from(["length", "chunks", "chunks", "connection"]),
        length=st.integers(0, 60),
        closes=st.booleans(),
    )
    def write_a_head(
        self,
        interim: list[int],
        status: int,
        headers: list[tuple[bytes, bytes]],
        framing: str,
        length: int,
        closes: bool,
    ) -> None:
        for code in interim:
            self.write(b"HTTP/1.1 %d Wait\r\nLink: x\r\n\r\n" % code)
        self.status, self.framing, self.left = status, framing, length
        self.headers = list(headers)
        if framing == "length":
            self.headers.append((b"Content-Length", b"%d" % length))
        if framing == "chunks":
            self.headers.insert(0, (b"transfer-encoding", b"chunked"))
        if closes:
            self.headers.append((b"Connection", b"close"))
        self.is_kept = not closes and framing != "connection"
        self.write(b"HTTP/1.1 %d Some Reason\r\n" % status)
        for name, value in self.headers:
            self.write(b"%s: %s\r\n" % (name, value))
        self.write(b"\r\n")
        self.head_at = len(self.sent)
        if status in {204, 304}:
            self.is_kept = not closes
            self.finish()
        elif framing == "length" and not length:
            self.finish()

    def finish(self) -> None:
        self.framing = ""
        self.end_at = len(self.sent)

    @precondition(lambda self: self.framing)
    @rule(data=BODY, extension=st.sampled_from([b"", b";a", b";a=b;c"]))
    def write_some_body(self, data: bytes, extension: bytes) -> None:
        if self.framing == "length":
            data = data[: self.left]
            self.left -= len(data)
            self.write(data, is_body=True)
            if not self.left:
                self.finish()
        elif self.framing == "connection":
            self.write(data, is_body=True)
        elif data:
            self.write(b"%X%s\r\n" % (len(data), extension))
            self.write(data, is_body=True)
            self.write(b"\r\n")

    @precondition(lambda self: self.framing == "chunks")
    @rule(trailers=HEADERS)
    def write_the_last_chunk(self, trailers: list[tuple[bytes, bytes]]) -> None:
        self.write(b"0\r\n" + b"".join(b"%s: %s\r\n" % trailer for trailer in trailers) + b"\r\n")
        self.finish()

    @precondition(lambda self: self.framing == "chunks")
    @rule(garbage=st.sampled_from([b"\0", b"-", b"g", b" ", b"\n", b";"]))
    def write_garbage_for_a_chunk(self, garbage: bytes) -> None:
        self.write(garbage)
        self.framing = ""
        self.is_spoilt_at = len(self.sent)

    @precondition(lambda self: self.end_at < 10**9)
    @rule(surplus=st.sampled_from([b"x", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", b"0\r\n\r\n"]))
    def write_more_than_was_asked(self, surplus: bytes) -> None:
        self.surplus_at = min(self.surplus_at, len(self.sent))
        self.write(surplus)

    @precondition(lambda self: not self.has_ended and self.read < len(self.sent))
    @rule(data=st.data())
    def some_arrives(self, data: st.DataObject) -> None:
        left = len(self.sent) - self.read
        size = data.draw(st.integers(1, left) | st.just(left))
        piece = bytes(byte for byte, _ in self.sent[self.read : self.read + size])
        self.read += size
        self.body += self.answer.feed(memoryview(piece) if size % 2 else piece)

    @rule()
    def the_connection_ends(self) -> None:
        self.answer.end()
        self.has_ended = True

    @invariant()
    def the_answer_is_what_was_written(self) -> None:
        answer = self.answer
        assert self.body == bytes(byte for byte, is_body in self.sent[: self.read] if is_body)
        assert answer.has_begun == (self.read > 0)
        assert answer.has_head == (self.read >= self.head_at)
        if answer.has_head:
            assert (answer.status, answer.headers) == (self.status, self.headers)
        ends_so = self.has_ended and answer.has_head and self.framing == "connection"
        assert answer.is_whole == (self.read >= self.end_at or ends_so)
        is_cut = self.has_ended and not answer.is_whole
        assert bool(answer.failure) == (self.read >= self.is_spoilt_at or is_cut)
        if answer.is_whole:
            is_alone = self.read <= self.surplus_at and not self.has_ended
            assert answer.may_stay == (self.is_kept and is_alone)


TestAnswering = Answering.TestCase
