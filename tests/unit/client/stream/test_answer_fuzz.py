"""Answers that were damaged on their way, and plain noise: never an error of Python's, never more than was sent."""

from random import Random

import h11

from kinformer.client._stream._answer import SILENCE, Answer

_STATUSES = (b"200 OK", b"204 No Content", b"304 Not Modified", b"410 Gone", b"500 ", b"103 Early")
_NOISE = (
    b"\r\n",
    b"\n",
    b"\r",
    b":",
    b" ",
    b"\0",
    b"-",
    b"0",
    b"ffffffffffffffff",
    b";",
    b"\xff",
    b"HTTP/1.1 ",
    b"chunked",
)
_LINES = (
    b"Content-Length: 5",
    b"Transfer-Encoding: chunked",
    b"Connection: close",
    b"Connection: upgrade",
    b"Upgrade: x",
)


def written(random: Random) -> bytes:
    """An answer in good form."""
    body = random.randbytes(random.randrange(200))
    head = b"HTTP/1.1 %s\r\nA: b\r\n" % random.choice(_STATUSES)
    match random.randrange(3):
        case 0:
            return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        case 1:
            chunks = [body[at : at + 40] for at in range(0, len(body), 40)]
            framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\nT: r\r\n\r\n"
        case _:
            return head + b"Connection: close\r\n\r\n" + body


def damaged(answer: bytes, random: Random) -> bytes:
    """The same with something wrong in it, or nothing."""
    for _ in range(random.randrange(4)):
        at, size = random.randrange(len(answer) + 1), random.randrange(6)
        match random.randrange(6):
            case 0:
                answer = answer[:at] + random.choice(_NOISE) + answer[at:]
            case 1:
                answer = answer[:at] + answer[at + size :]
            case 2:
                answer = answer[:at] + random.randbytes(size) + answer[at + size :]
            case 3:
                answer = answer[:at]
            case 4:
                answer += answer[at:] + written(random)
            case _:
                first, end, rest = answer.partition(b"\r\n")
                answer = first + end + random.choice(_LINES) + b"\r\n" + rest
    return answer


def cut(data: bytes, random: Random) -> list[bytes]:
    pieces = []
    while data:
        size = random.choice((1, 2, 5, 30, 1000))
        pieces.append(data[:size])
        data = data[size:]
    return pieces


def heard(pieces: list[bytes]) -> tuple[object, ...]:
    """All that there is to know of an answer in the end, after checking what must hold on the way."""
    answer, body = Answer(), b""
    for piece in pieces:
        was_over = answer.is_over
        got = answer.feed(piece)
        assert not (was_over and got)
        body += got
    answer.end()
    assert answer.is_over
    assert bool(answer.failure) != answer.is_whole
    assert len(body) <= sum(map(len, pieces))
    assert all(b"\r" not in value and b"\n" not in value for _, value in answer.headers)
    headers = tuple(answer.headers) if answer.has_head else ()
    return answer.status, headers, body, answer.is_whole


def heard_by_h11(pieces: list[bytes]) -> tuple[int, bytes] | None:
    """Status and body as another parser sees them, if it sees a whole answer."""
    peer = h11.Connection(h11.CLIENT)
    peer.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    peer.send(h11.EndOfMessage())
    status, body = 0, b""
    try:
        for piece in [*pieces, b""]:
            peer.receive_data(piece)
            while not isinstance(event := peer.next_event(), h11.NEED_DATA | h11.PAUSED):
                if isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return status, body
    except h11.RemoteProtocolError:
        pass
    return None


def test_damaged_answers_are_taken_or_refused_alike_however_they_are_cut(seed: int) -> None:
    random = Random(seed)
    whole = 0
    for _ in range(300):
        answer = damaged(written(random), random)
        pieces = cut(answer, random)
        found = heard(pieces)
        assert found == heard([answer] if answer else [])
        whole += bool(found[-1])
    assert whole > 30, "there is nothing left to see in what was never whole"


def test_what_we_take_another_parser_takes_to_be_the_same(seed: int) -> None:
    random = Random(1000 + seed)
    agreed = 0
    for _ in range(300):
        pieces = cut(damaged(written(random), random), random)
        status, _, body, is_whole = heard(pieces)
        if is_whole and (other := heard_by_h11(pieces)) is not None:
            assert other == (status, body)
            agreed += 1
    assert agreed > 30


def test_noise_is_refused_at_once(seed: int) -> None:
    random = Random(2000 + seed)
    for _ in range(300):
        answer = Answer()
        answer.feed(b"\x80" + random.randbytes(random.randrange(200)))
        assert answer.failure


def test_noise_behind_a_head_ends_in_bounded_work(seed: int) -> None:
    random = Random(3000 + seed)
    answer = Answer()
    answer.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
    fed = 0
    while not answer.failure:
        piece = bytes(random.choices(b"abc;= ", k=random.randrange(1, 4000)))
        assert answer.feed(piece) == b""
        fed += len(piece)
        assert fed < SILENCE + 8000
