"""See a manager at work: probes over HTTP, and what they tell."""

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
    "Observation",
    "Phase",
    "Report",
    "Trouble",
]
