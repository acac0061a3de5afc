"""See a manager at work: probes, metrics and a page over HTTP, spans, and logs."""

from kinformer.observe._logs import JsonFormatter, ReconcileFilter
from kinformer.observe._metrics import Metrics
from kinformer.observe._observation import Observation
from kinformer.observe._reconciling import Reconciling, reconciling
from kinformer.observe._report import (
    ControllerReport,
    HandlerReport,
    InformerReport,
    KeyReport,
    LeaseReport,
    Phase,
    Report,
    Trouble,
)
from kinformer.observe._server import Address, HttpServer, ListenError
from kinformer.observe._tracing import Tracing
from kinformer.observe._trends import Load

__all__ = [
    "Address",
    "ControllerReport",
    "HandlerReport",
    "HttpServer",
    "InformerReport",
    "JsonFormatter",
    "KeyReport",
    "LeaseReport",
    "ListenError",
    "Load",
    "Metrics",
    "Observation",
    "Phase",
    "ReconcileFilter",
    "Reconciling",
    "Report",
    "Tracing",
    "Trouble",
    "reconciling",
]
