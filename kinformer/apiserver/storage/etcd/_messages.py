"""The messages of etcd's v3 API that are used here, declared field by field.

The wire knows numbers and types only, so these are in a package of our own and meet no other client's in the same
process. A scalar that is zero is not sent; etcd takes a missing one as zero, also in what it declares as ``oneof``.
The contract: https://etcd.io/docs/v3.5/dev-guide/api_reference_v3/
"""

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessages

__all__ = ["MESSAGES"]

_PACKAGE: Final = "kinformer.etcd"

_SCALARS: Final = {
    "int64": FieldDescriptorProto.TYPE_INT64,
    "int32": FieldDescriptorProto.TYPE_INT32,  # enumerations, too
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "string": FieldDescriptorProto.TYPE_STRING,
}

_FIELDS: Final = {
    "KeyValue": "key:bytes=1 create_revision:int64=2 mod_revision:int64=3 version:int64=4 value:bytes=5",
    "Event": "type:int32=1 kv:KeyValue=2 prev_kv:KeyValue=3",
    "Header": "revision:int64=3",
    "RangeRequest": "key:bytes=1 range_end:bytes=2 limit:int64=3 revision:int64=4 count_only:bool=9",
    "RangeResponse": "header:Header=1 kvs:*KeyValue=2 count:int64=4",
    "PutRequest": "key:bytes=1 value:bytes=2 prev_kv:bool=4",
    "PutResponse": "header:Header=1 prev_kv:KeyValue=2",
    "DeleteRequest": "key:bytes=1 range_end:bytes=2 prev_kv:bool=3",
    "DeleteResponse": "header:Header=1 prev_kvs:*KeyValue=3",
    "Compare": (
        "result:int32=1 target:int32=2 key:bytes=3 version:int64=4 create_revision:int64=5 mod_revision:int64=6 "
        "value:bytes=7 range_end:bytes=64"
    ),
    "RequestOp": "range:RangeRequest=1 put:PutRequest=2 delete:DeleteRequest=3 txn:TxnRequest=4",
    "ResponseOp": "range:RangeResponse=1 put:PutResponse=2 delete:DeleteResponse=3 txn:TxnResponse=4",
    "TxnRequest": "compare:*Compare=1 success:*RequestOp=2 failure:*RequestOp=3",
    "TxnResponse": "header:Header=1 succeeded:bool=2 responses:*ResponseOp=3",
    "CompactionRequest": "revision:int64=1",
    "CompactionResponse": "header:Header=1",
    "AuthenticateRequest": "name:string=1 password:string=2",
    "AuthenticateResponse": "header:Header=1 token:string=2",
    "StatusRequest": "",
    "StatusResponse": "version:string=2",
    "WatchRequest": "create:WatchCreate=1 cancel:WatchCancel=2 progress:WatchProgress=3",
    "WatchCreate": (
        "key:bytes=1 range_end:bytes=2 start_revision:int64=3 progress_notify:bool=4 filters:*int32=5 prev_kv:bool=6 "
        "watch_id:int64=7 fragment:bool=8"
    ),
    "WatchCancel": "watch_id:int64=1",
    "WatchProgress": "",
    "WatchResponse": (
        "header:Header=1 watch_id:int64=2 created:bool=3 canceled:bool=4 compact_revision:int64=5 "
        "cancel_reason:string=6 fragment:bool=7 events:*Event=11"
    ),
}


def _declare() -> dict[str, Any]:
    file = FileDescriptorProto(name="kinformer/etcd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            declared, _, number = text.partition("=")
            field_name, _, kind = declared.partition(":")
            field = message.field.add(name=field_name, number=int(number))
            is_many = kind.startswith("*")
            field.label = field.LABEL_REPEATED if is_many else field.LABEL_OPTIONAL
            kind = kind.removeprefix("*")
            if kind in _SCALARS:
                field.type = _SCALARS[kind]
            else:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    found = GetMessages([file], pool=DescriptorPool())
    return {name.removeprefix(f"{_PACKAGE}."): message for name, message in found.items()}


MESSAGES: Final = _declare()
"""The classes of the messages, by name."""
