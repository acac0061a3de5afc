"""The watch cache between storage and the verbs."""

from kinformer.apiserver.cacher._beginning import Beginning
from kinformer.apiserver.cacher._cacher import Cacher, Dispatching
from kinformer.apiserver.cacher._cachers import Cached, Cachers, Following
from kinformer.apiserver.cacher._consistency import check, difference
from kinformer.apiserver.cacher._content import Content, Snapshot
from kinformer.apiserver.cacher._continue import LATEST_REVISION, Position, decode_continue, encode_continue
from kinformer.apiserver.cacher._delegation import ListRequest, Route, delegate, may_bypass
from kinformer.apiserver.cacher._delegator import Delegator
from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._encoded import Bookmark, Encoded, Forms, Matches, Selected
from kinformer.apiserver.cacher._event import Attributes, CacheEvent, Element, ReadAttributes
from kinformer.apiserver.cacher._freshness import Freshness
from kinformer.apiserver.cacher._history import FRESH, EvictedError, History, Replay, upper_bound
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._options import CacheOptions
from kinformer.apiserver.cacher._paging import Cut, Page, next_step
from kinformer.apiserver.cacher._readiness import NotReadyError, Readiness, StoppedError
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._scopes import Scope
from kinformer.apiserver.cacher._selection import EventType, select
from kinformer.apiserver.cacher._stored import StoredObject
from kinformer.apiserver.cacher._support import ProgressSupport
from kinformer.apiserver.cacher._views import Views
from kinformer.apiserver.cacher._watch import CacheWatch
from kinformer.apiserver.cacher._watcher import BookmarkState, CacheWatcher, queue_size

__all__ = [
    "FRESH",
    "LATEST_REVISION",
    "Attributes",
    "Beginning",
    "Bookmark",
    "BookmarkState",
    "CacheEvent",
    "CacheOptions",
    "CacheWatch",
    "CacheWatcher",
    "Cached",
    "Cacher",
    "Cachers",
    "Content",
    "Cut",
    "Delegator",
    "Dispatcher",
    "Dispatching",
    "Element",
    "Encoded",
    "EventType",
    "EvictedError",
    "Following",
    "Forms",
    "Freshness",
    "History",
    "InitialState",
    "ListRequest",
    "Matches",
    "Metrics",
    "NotReadyError",
    "Page",
    "Position",
    "ProgressSupport",
    "ReadAttributes",
    "Readiness",
    "Replay",
    "Route",
    "Scope",
    "Selected",
    "Snapshot",
    "StoppedError",
    "StoredObject",
    "Views",
    "check",
    "decode_continue",
    "delegate",
    "difference",
    "encode_continue",
    "may_bypass",
    "next_step",
    "queue_size",
    "select",
    "upper_bound",
]
