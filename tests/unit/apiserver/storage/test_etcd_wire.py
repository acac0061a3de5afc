"""Between our values and etcd's messages. That etcd understands them is what ``test_kv`` shows."""

import pytest

pytest.importorskip("grpc", reason="needs the extra etcd")

from kinformer.apiserver.storage import (
    Change,
    CompactedError,
    Compare,
    FutureRevisionError,
    KeyRange,
    KeyValue,
    Read,
    Transaction,
    TransactionError,
    UnavailableError,
    WatchRequest,
    WatchResponse,
)
from kinformer.apiserver.storage.etcd._calls import translate
from kinformer.apiserver.storage.etcd._messages import MESSAGES
from kinformer.apiserver.storage.etcd._watch import tells_progress
from kinformer.apiserver.storage.etcd._wire import (
    from_text,
    read_request,
    to_text,
    transaction_request,
    watch_create,
    watch_response,
)


@pytest.mark.parametrize(
    ("keys", "key", "end"),
    [
        pytest.param(KeyRange.key("a"), b"a", b"", id="a key"),
        pytest.param(KeyRange.prefix("a"), b"a", b"b", id="a prefix"),
        pytest.param(KeyRange.prefix(""), b"\0", b"\0", id="everything"),
        pytest.param(KeyRange("a", None), b"a", b"\0", id="from a key on"),
        pytest.param(KeyRange("b", "a"), b"\1", b"\1", id="nothing"),
        pytest.param(KeyRange("b", ""), b"\1", b"\1", id="nothing, whose end would mean something else"),
    ],
)
def test_a_range_is_told_in_etcds_way(keys: KeyRange, key: bytes, end: bytes) -> None:
    message = read_request(Read(keys))
    assert (message.key, message.range_end) == (key, end)


def test_what_goes_over_the_wire_is_what_etcd_declares() -> None:
    """A put of ``k`` to ``v`` if it was created at 5, byte by byte."""
    compare = Compare(KeyRange.key("k"), "create_revision", "=", 5)
    assert transaction_request(Transaction([compare])).SerializeToString() == bytes.fromhex(
        "0a07 1001 1a016b 2805"
    )
    request = watch_create(WatchRequest(KeyRange.key("k"), 7, no_delete=True, prev_kv=True))
    assert request.SerializeToString() == bytes.fromhex("0a0a 0a016b 1807 2a0101 3001")


@pytest.mark.parametrize("key", ["a", "\u00e9\U0001f600", "\udcff"], ids=ascii)
def test_a_key_survives_the_way_there_and_back(key: str) -> None:
    assert to_text(from_text(key)) == key


def test_events_tell_puts_from_deletes() -> None:
    old = MESSAGES["KeyValue"](key=b"k", value=b"1", create_revision=2, mod_revision=2, version=1)
    gone = MESSAGES["Event"](type=1, kv=MESSAGES["KeyValue"](key=b"k", mod_revision=3), prev_kv=old)
    made = MESSAGES["Event"](kv=old)
    message = MESSAGES["WatchResponse"](
        watch_id=4, events=[made, gone], header=MESSAGES["Header"](revision=9)
    )
    value = KeyValue("k", b"1", 2, 2, 1)
    assert watch_response(message) == WatchResponse(
        4, 9, (Change(2, "k", value, None), Change(3, "k", None, value))
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("etcdserver: mvcc: required revision has been compacted", CompactedError),
        ("etcdserver: mvcc: required revision is a future revision", FutureRevisionError),
        ("etcdserver: duplicate key given in txn request", TransactionError),
        ("etcdserver: too many operations in txn request", TransactionError),
        ("etcdserver: no leader", UnavailableError),
    ],
)
def test_what_etcd_says_becomes_an_error_of_ours(text: str, kind: type[Exception]) -> None:
    assert type(translate(text, "127.0.0.1:2379", 5, 4)) is kind


def test_an_error_of_no_other_kind_says_where_etcd_is() -> None:
    assert str(translate("no leader", "here:1")) == "etcd at here:1: no leader"


@pytest.mark.parametrize(
    ("version", "tells"),
    [
        ("3.4.23", False),
        ("3.4.31", True),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.6.0", True),
        ("3.6.0-rc.1", True),
        ("4.0.0", True),
        ("3.3.99", False),
        ("", False),
    ],
)
def test_only_some_versions_can_be_believed_about_progress(version: str, tells: bool) -> None:
    assert tells_progress(version) is tells
