"""Readiness: whether a manager can do its work, and what keeps it from that. Pure."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from kinformer.observe._answers import Answer
from kinformer.observe._report import InformerReport, Report, Trouble

__all__ = ["readiness"]

_PATIENCE: Final = 10.0
"""Seconds for which a cache that was complete may be in trouble: an apiserver that restarts is nobody's failure."""

_SYNCED: Final = "Synced"
"""The one condition that is good where it is true; the floor that has its name waits and talks, and this module does not."""


def readiness(report: Report) -> Answer:
    """What ``/readyz`` says: 200 where all caches are complete and none is stuck, else 503 with a line for each reason.

    Who stands by in an election is ready, since its caches are filled. One object that cannot be read makes nothing
    unready: the rest of its kind keeps flowing.
    """
    lines = [line for informer in report.informers for line in _lines(informer)]
    match report.phase:
        case "starting" | "stopping":
            lines.append(f"[-] the manager is {report.phase}")
        case "filling":
            lines += [
                f"[-] {controller.name}: the start waits for {what}"
                for controller in report.controllers
                for what in controller.waits
            ]
        case _:
            pass
    is_ready = not any(line.startswith("[-]") for line in lines)
    lines.append("ready" if is_ready else "not ready")
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer("".join(f"{line}\n" for line in lines), status=status)


def _lines(informer: InformerReport) -> Sequence[str]:
    name = " ".join(
        filter(None, (informer.name, informer.scope, informer.cluster and f"({informer.cluster})"))
    )
    blocking = [
        trouble
        for trouble in informer.troubles
        if trouble.is_blocking and (trouble.age >= _PATIENCE or not informer.is_synced)
    ]
    if not blocking:
        return [f"[+] {name}: {informer.objects} {'object' if informer.objects == 1 else 'objects'}"]
    causes = [trouble for trouble in blocking if trouble.condition != _SYNCED]
    return [
        f"[-] {name}: {_state(trouble)} for {trouble.age:.0f} s: "
        + (f"{trouble.meaning} ({trouble.message})" if trouble.message else trouble.meaning)
        for trouble in causes or blocking
    ]


def _state(trouble: Trouble) -> str:
    """What is the matter, in a word: a condition that holds, or ``Synced``, which does not."""
    return "filling" if trouble.condition == _SYNCED else trouble.condition
