"""Between our values and etcd's messages: pure."""

from typing import Any, Final

from kinformer.apiserver.storage._keys import KeyRange, KeyValue
from kinformer.apiserver.storage._mvcc import Change
from kinformer.apiserver.storage._transactions import (
    Compare,
    Delete,
    DeleteResult,
    Operation,
    Put,
    PutResult,
    Read,
    ReadResult,
    Result,
    Transaction,
    TransactionResult,
)
from kinformer.apiserver.storage._watch_messages import WatchRequest, WatchResponse
from kinformer.apiserver.storage.etcd._messages import MESSAGES

__all__ = [
    "from_text",
    "key_value",
    "read_request",
    "read_result",
    "to_text",
    "transaction_request",
    "transaction_result",
    "watch_create",
    "watch_response",
]

Message = Any
"""An instance of one of ``MESSAGES``."""

_FIRST: Final = b"\0"
"""The smallest key; as an end it means that there is none."""
_EMPTY: Final = (b"\1", b"\1")
_RESULTS: Final = {"=": 0, ">": 1, "<": 2, "!=": 3}
_TARGETS: Final = {"version": 0, "create_revision": 1, "mod_revision": 2, "value": 3}
_DELETE: Final = 1
_NO_PUT, _NO_DELETE = 0, 1


def from_text(key: str) -> bytes:
    """A key as etcd has it."""
    return key.encode("utf-8", "surrogateescape")


def to_text(key: bytes) -> str:
    """A key of etcd as text; what is no UTF-8 survives the way there and back."""
    return key.decode("utf-8", "surrogateescape")


def key_value(message: Message) -> KeyValue:
    """What a key holds."""
    return KeyValue(
        to_text(message.key), message.value, message.create_revision, message.mod_revision, message.version
    )


def read_request(read: Read) -> Message:
    """A request to read."""
    key, end = _bounds(read.keys)
    return MESSAGES["RangeRequest"](
        key=key, range_end=end, limit=read.limit, revision=read.revision, count_only=read.count_only
    )


def read_result(message: Message) -> ReadResult:
    """What was read."""
    return ReadResult(tuple(map(key_value, message.kvs)), message.header.revision, message.count)


def transaction_request(transaction: Transaction) -> Message:
    """A request to do several things at once, all of which tell what was there before."""
    return MESSAGES["TxnRequest"](
        compare=map(_compare, transaction.compares),
        success=map(_operation, transaction.then),
        failure=map(_operation, transaction.otherwise),
    )


def transaction_result(message: Message, revision: int = 0) -> TransactionResult:
    """What was done; a nested one has no revision of its own."""
    revision = message.header.revision or revision
    results = tuple(_result(each, revision) for each in message.responses)
    return TransactionResult(message.succeeded, revision, results)


def watch_create(request: WatchRequest) -> Message:
    """A request to open a watch."""
    key, end = _bounds(request.keys)
    filters = [_NO_PUT] * request.no_put + [_NO_DELETE] * request.no_delete
    create = MESSAGES["WatchCreate"](
        key=key,
        range_end=end,
        start_revision=request.start_revision,
        progress_notify=request.progress_notify,
        filters=filters,
        prev_kv=request.prev_kv,
        watch_id=request.watch_id,
        fragment=request.fragment,
    )
    return MESSAGES["WatchRequest"](create=create)


def watch_response(message: Message) -> WatchResponse:
    """What a stream of watches says."""
    return WatchResponse(
        message.watch_id,
        message.header.revision,
        tuple(map(_change, message.events)),
        created=message.created,
        canceled=message.canceled,
        compact_revision=message.compact_revision,
        cancel_reason=message.cancel_reason,
        fragment=message.fragment,
    )


def _bounds(keys: KeyRange) -> tuple[bytes, bytes]:
    if keys.is_empty:
        return _EMPTY
    start = from_text(keys.start) or _FIRST
    if keys.single is not None:
        return start, b""
    return start, _FIRST if keys.end is None else from_text(keys.end)


def _compare(compare: Compare) -> Message:
    key, end = _bounds(compare.keys)
    return MESSAGES["Compare"](
        result=_RESULTS[compare.operator],
        target=_TARGETS[compare.target],
        key=key,
        range_end=end,
        **{compare.target: compare.operand},
    )


def _operation(operation: Operation) -> Message:
    op = MESSAGES["RequestOp"]
    match operation:
        case Read():
            return op(range=read_request(operation))
        case Put(key, value):
            return op(put=MESSAGES["PutRequest"](key=from_text(key), value=value, prev_kv=True))
        case Delete(keys):
            start, end = _bounds(keys)
            return op(delete=MESSAGES["DeleteRequest"](key=start, range_end=end, prev_kv=True))
        case Transaction():
            return op(txn=transaction_request(operation))


def _result(message: Message, revision: int) -> Result:
    if message.HasField("range"):
        return read_result(message.range)
    if message.HasField("put"):
        return PutResult(_previous(message.put))
    if message.HasField("delete"):
        return DeleteResult(tuple(map(key_value, message.delete.prev_kvs)))
    return transaction_result(message.txn, revision)


def _change(event: Message) -> Change:
    current = None if event.type == _DELETE else key_value(event.kv)
    return Change(event.kv.mod_revision, to_text(event.kv.key), current, _previous(event))


def _previous(message: Message) -> KeyValue | None:
    return key_value(message.prev_kv) if message.HasField("prev_kv") else None
