"""What users and we test with: a cluster in memory, a clock that a test moves, builders.

Beside these, pytest finds a ``cluster`` fixture by itself (``kinformer.testing.pytest_plugin``, whose ``cluster_for``
makes fixtures with content), and ``kinformer.testing.strategies`` has hypothesis strategies.
"""

from kinformer.testing._builders import (
    config_map,
    custom_object,
    custom_resource_definition,
    namespace,
    pod,
)
from kinformer.testing._clock import FakeClock, settle
from kinformer.testing._cluster import Cluster
from kinformer.testing._source import (
    HOLD,
    After,
    ListAnswer,
    ScriptedRequest,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
)
from kinformer.testing._transport import AppTransport

__all__ = [
    "HOLD",
    "After",
    "AppTransport",
    "Cluster",
    "FakeClock",
    "ListAnswer",
    "ScriptedRequest",
    "ScriptedSource",
    "StreamStep",
    "WatchAnswer",
    "added",
    "bookmark",
    "config_map",
    "custom_object",
    "custom_resource_definition",
    "deleted",
    "error_event",
    "modified",
    "namespace",
    "pod",
    "settle",
]
