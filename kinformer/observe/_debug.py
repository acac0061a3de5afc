"""Debug: the page for people, and the same as JSON."""

from base64 import b64encode
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Final

import msgspec

from kinformer.hooks import ReconcileResult
from kinformer.observe._answers import Answer
from kinformer.observe._failures import Failure
from kinformer.observe._report import Report
from kinformer.observe._tally import Tally
from kinformer.observe._trends import History

__all__ = ["Activity", "Debug", "activities", "page", "told"]

_RESULTS: Final = tuple(str(result) for result in ReconcileResult)


class Activity(msgspec.Struct, frozen=True, rename="camel"):
    """What a controller has done so far.

    Attributes:
        results: How often its reconciles had which result.
        seconds: How long they took, added up.
        retries: How often a key was put back.
    """

    results: dict[str, int]
    seconds: float
    retries: int


class Debug(msgspec.Struct, frozen=True, rename="camel"):
    """What ``/debug.json`` says.

    Attributes:
        version: That of kinformer.
        host: The machine's name.
        now: The wall time.
        uptime: Seconds since the manager began to run.
        report: The present state.
        activity: By controller.
        requests: How many requests had which status code.
        holders: Who leads where this replica stands by, by the Lease's name, as was last seen.
        failures: The last that went wrong, the last first.
    """

    version: str
    host: str
    now: datetime
    uptime: float
    report: Report
    activity: dict[str, Activity]
    requests: dict[str, int]
    holders: dict[str, str]
    failures: tuple[Failure, ...]
    history: History


def activities(tally: Tally, report: Report) -> dict[str, Activity]:
    """What each controller has done."""
    return {
        controller.name: Activity(
            {result: tally.reconciles[controller.name, result] for result in _RESULTS},
            tally.reconcile_time[controller.name].total,
            tally.retries[controller.name],
        )
        for controller in report.controllers
    }


def told(debug: Debug) -> Answer:
    """What ``/debug.json`` says."""
    return Answer(msgspec.json.encode(debug), "application/json")


@cache
def page() -> Answer:
    """The page: one file without anything from elsewhere, which asks for ``/debug.json`` each second.

    Nothing of the state is in it; what its script is told it shows as text, and the policy lets no other script run.
    """
    from importlib.resources import files  # it takes long to import

    html = files("kinformer.observe").joinpath("debug.html").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src {_hash(html, 'script')}; style-src {_hash(html, 'style')}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Answer(html, "text/html; charset=utf-8", headers=(("Content-Security-Policy", policy),))


def _hash(html: str, tag: str) -> str:
    content = html.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
