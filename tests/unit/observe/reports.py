"""Reports for tests: what is not said is as in a manager that has just begun, and is well."""

import math
from typing import Any

from kinformer.observe import ControllerReport, InformerReport


def informer(name: str = "pods", **change: Any) -> InformerReport:
    plain: dict[str, Any] = {
        "cluster": "",
        "scope": "",
        "controllers": ("web",),
        "is_synced": True,
        "objects": 0,
        "size": 0,
        "version": "7",
        "queued": 0,
        "event_age": math.inf,
        "bookmark_age": math.inf,
        "relists": 0,
        "watch_restarts": 0,
        "troubles": (),
        "handlers": (),
    }
    return InformerReport(name=name, **(plain | change))


def controller(name: str = "web", **change: Any) -> ControllerReport:
    plain: dict[str, Any] = {
        "resource": "websites.example.dev",
        "workers": 4,
        "waits": (),
        "depth": 0,
        "oldest_wait": 0.0,
        "unfinished_work": 0.0,
        "longest_running": 0.0,
        "running": (),
        "running_total": 0,
        "delayed": (),
        "delayed_total": 0,
        "parked": (),
        "parked_total": 0,
    }
    return ControllerReport(name=name, **(plain | change))
