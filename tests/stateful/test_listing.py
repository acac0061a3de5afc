"""A list that arrives in pieces against the same list, read at one go; and against how much of it must be out by when."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.client._codec import decode_list
from kinformer.client._listing import ListDecoder
from kinformer.errors import DecodeError
from kinformer.meta import Object, ObjectList, Resource

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from(["a", "b", "long-name", 7, None, ""])
LABELS = st.sampled_from([None, {}, {"x": "y"}, {"x": None}, {"x": 1}])
TEXTS = st.sampled_from(["", "x", '},{"metadata":{', "\\", '"items":[', "\u2028"])
INNER = st.recursive(
    TEXTS | st.integers(),
    lambda each: st.lists(each | each.map(lambda x: {"metadata": {"name": x}})),
    max_leaves=3,
)
BEGINNINGS = {"metadata": b'{"metadata":{', "apiVersion": b'{"apiVersion":"v1","kind":"Pod",'}
"""How the items begin, by the key that is written first."""


class Listing(RuleBasedStateMachine):
    """Objects, good and bad, with inner ones that look like items, are written; pieces of any size are read.

    As long as all items begin alike, and in a way that a Go server's do, each is out as soon as the next has begun.
    """

    def __init__(self) -> None:
        super().__init__()
        self.decoder = ListDecoder(PODS)
        self.written = b""
        self.read = 0
        self.begins: list[int] = []  # where each item does
        self.first = ""
        self.is_regular = True
        self.is_over = False

    @initialize(
        first=st.sampled_from(["metadata", "metadata", "apiVersion", "spec"]),
        metadata=st.sampled_from([b"", b'"metadata":{"resourceVersion":"9","continue":"c"},']),
    )
    def begin(self, first: str, metadata: bytes) -> None:
        self.first, self.is_regular = first, first != "spec"
        self.written = b'{"kind":"PodList",' + metadata + b'"items":['

    def write(self, item: bytes) -> None:
        if self.begins:
            self.written += b","
        self.begins.append(len(self.written))
        self.written += item

    @precondition(lambda self: not self.is_over)
    @rule(objects=st.lists(st.tuples(NAMES, LABELS, INNER), min_size=1, max_size=3))
    def some_objects(self, objects: list[tuple[object, object, object]]) -> None:
        for name, labels, inner in objects:
            body = {"metadata": {"name": name, "labels": labels}, "spec": {"x": inner}}
            content: dict[str, object] = {**body, "apiVersion": "v1", "kind": "Pod"}
            order = sorted(content, key=lambda key: (key != self.first, key not in {"apiVersion", "kind"}))
            ordered = {key: content[key] for key in order}
            self.write(json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode())

    @precondition(lambda self: not self.is_over and len(self.begins) > 3)
    @rule(
        item=st.sampled_from(
            [b"1", b"null", b'"x"', b"[]", b"{}", b"{", b"}", b"\x00", b' {"metadata":{"name":"x"}}']
        )
    )
    def something_else(self, item: bytes) -> None:
        self.is_regular = False
        self.write(item)

    @precondition(lambda self: not self.is_over and len(self.begins) > 4)
    @rule(more=st.sampled_from([b"]}", b'],"metadata":{"resourceVersion":"7"}}', b"]", b"]}}"]))
    def the_end(self, more: bytes) -> None:
        self.written += more
        self.is_over = True

    @rule(data=st.data())
    def some_arrives(self, data: st.DataObject) -> None:
        left = len(self.written) - self.read
        size = data.draw(st.integers(0, min(left, 60)) | st.just(left))
        self.decoder.feed(self.written[self.read : self.read + size])
        self.read += size

    @invariant()
    def each_object_is_out_once_the_next_has_begun(self) -> None:
        if self.is_regular and self.first:
            known = len(BEGINNINGS[self.first])
            begun = sum(self.read >= start + known for start in self.begins)
            assert len(self.decoder) == max(0, begun - 1)

    def teardown(self) -> None:
        self.decoder.feed(self.written[self.read :])
        assert outcome(self.decoder.finish) == outcome(lambda: decode_list(self.written, PODS))


def outcome(read: Callable[[], ObjectList[Object]]) -> Any:
    try:
        page = read()
    except DecodeError:
        return "no list"
    items = [(obj.key, obj.raw) for obj in page.items]
    return items, [(str(error), error.key) for error in page.rejected], page.version, page.continue_token


TestListing = Listing.TestCase
