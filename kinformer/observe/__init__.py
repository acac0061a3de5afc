"""See a manager at work: probes, metrics and a page over HTTP, and the reports that they are made of."""

from kinformer.observe._metrics import Metrics
from kinformer.observe._observation import Observation
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
from kinformer.observe._server import Address, HttpServer
from kinformer.observe._trends import Load

__all__ = [
    "Address",
    "ControllerReport",
    "HandlerReport",
    "HttpServer",
    "InformerReport",
    "KeyReport",
    "LeaseReport",
    "Load",
    "Metrics",
    "Observation",
    "Phase",
    "Report",
    "Trouble",
]
