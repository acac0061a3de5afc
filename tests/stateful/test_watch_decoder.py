"""The watch decoder against the plainest model: all bytes so far, split at once."""

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.client._codec import WatchDecoder
from kinformer.errors import DecodeError, ServerError
from kinformer.meta import Resource, WatchEvent

PODS = Resource.builtin("Pod")
TEXTS = st.text(st.sampled_from('a"\\\r\u0085\u2028}{,:'), max_size=6)


class Decoding(RuleBasedStateMachine):
    """Lines are written whole and read in pieces; what has come out is always what the pieces completed."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = WatchDecoder(PODS)
        self.unread = b""
        self.read = b""
        self.expected: list[tuple[Any, ...]] = []  # for each line that was written
        self.events: list[tuple[Any, ...]] = []
        self.number = 0

    def write(self, line: bytes, *told: Any) -> None:
        self.unread += line + b"\n"
        self.expected.append(told)

    @rule(
        kind=st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
        text=TEXTS,
        spaced=st.booleans(),
        first=st.booleans(),
    )
    def an_object(self, kind: str, text: str, spaced: bool, first: bool) -> None:
        self.number += 1
        meta = {"name": f"n{self.number}", "resourceVersion": str(self.number), "annotations": {"a": text}}
        obj = {"metadata": meta, "spec": {text: [text, {}]}}
        envelope = {"type": kind, "object": obj} if first else {"object": obj, "type": kind}
        separators = None if spaced else (",", ":")
        line = json.dumps(envelope, separators=separators, ensure_ascii=False)
        raw = json.dumps(obj, separators=separators, ensure_ascii=False)
        self.write(line.encode(), kind, str(self.number), raw.encode())

    @rule(end=st.booleans())
    def a_bookmark(self, end: bool) -> None:
        self.number += 1
        annotations = {"k8s.io/initial-events-end": "true"} if end else None
        meta = {"resourceVersion": str(self.number), "annotations": annotations}
        self.write(json.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}).encode(), "BOOKMARK", end)

    @rule()
    def an_error(self) -> None:
        self.write(b'{"type":"ERROR","object":{"kind":"Status","code":500}}', "ERROR", ServerError)

    @rule(
        garbage=st.sampled_from(
            [b"{", b"null", b'{"type":"ADDED","object":{}}', b'{"type":"ADDED","object":{}}}']
        )
    )
    def garbage(self, garbage: bytes) -> None:
        self.write(garbage, "ERROR", DecodeError)

    @rule()
    def a_blank_line(self) -> None:
        self.unread += b"\r\n"

    @precondition(lambda self: self.unread)
    @rule(data=st.data())
    def a_chunk_arrives(self, data: st.DataObject) -> None:
        size = data.draw(st.integers(0, len(self.unread)))
        chunk, self.unread = self.unread[:size], self.unread[size:]
        self.read += chunk
        self.events += map(told, self.decoder.feed(chunk))

    @invariant()
    def what_came_out_is_what_was_completed(self) -> None:
        lines = [line for line in self.read.split(b"\n")[:-1] if line.strip()]
        assert self.events == self.expected[: len(lines)]

    def teardown(self) -> None:
        rest = [told(event) for event in self.decoder.finish()]
        assert self.events + rest in (self.events, self.expected[: len(self.events) + 1])


def told(event: WatchEvent) -> tuple[Any, ...]:
    if event.error is not None:
        return str(event.type), type(event.error)
    if event.record is None:
        return str(event.type), event.ends_initial_events
    return str(event.type), event.version, event.record.raw


TestDecoding = Decoding.TestCase
