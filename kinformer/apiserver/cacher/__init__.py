"""The watch cache between storage and the verbs."""

from kinformer.apiserver.cacher._continue import LATEST_REVISION, Position, decode_continue, encode_continue
from kinformer.apiserver.cacher._event import Attributes, CacheEvent, Element, ReadAttributes
from kinformer.apiserver.cacher._selection import Selected, select
from kinformer.apiserver.cacher._stored import StoredObject
from kinformer.apiserver.cacher._views import Views

__all__ = [
    "LATEST_REVISION",
    "Attributes",
    "CacheEvent",
    "Element",
    "Position",
    "ReadAttributes",
    "Selected",
    "StoredObject",
    "Views",
    "decode_continue",
    "encode_continue",
    "select",
]
