"""See a manager at work: probes and metrics over HTTP, and the reports that they are made of."""

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

__all__ = [
    "Address",
    "ControllerReport",
    "HandlerReport",
    "HttpServer",
    "InformerReport",
    "KeyReport",
    "LeaseReport",
    "Metrics",
    "Observation",
    "Phase",
    "Report",
    "Trouble",
]
