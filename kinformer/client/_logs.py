"""Logs: what a container wrote, while it writes it.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kinformer.client._calls import Call
from kinformer.client._target import Target
from kinformer.meta import ObjectKey, Resource

if TYPE_CHECKING:
    from kinformer.client._http import Http

__all__ = ["log_call", "open_log"]

_LOG: Final = Target(Resource.builtin("Pod")).below("log")


def log_call(
    pod: ObjectKey | str,
    *,
    container: str,
    follow: bool,
    previous: bool,
    since_seconds: int,
    since_time: datetime | None,
    tail_lines: int | None,
    limit_bytes: int,
    timestamps: bool,
) -> Call:
    """``v1.PodLogOptions`` as a call.

    Raises:
        ValueError: The key does not fit, a number is too small, a time has no zone, or there are two beginnings.
    """
    counts = {"since_seconds": since_seconds, "tail_lines": tail_lines or 0, "limit_bytes": limit_bytes}
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name} {value} must not be negative")
    if since_seconds and since_time is not None:
        raise ValueError(
            f"since_seconds {since_seconds} and since_time {since_time} are two beginnings: give one"
        )
    if since_time is not None and since_time.tzinfo is None:
        raise ValueError(f"since_time {since_time} must have a time zone, as datetime.now(UTC) has")
    return Call(
        "GET",
        _LOG.item(pod),
        {
            "container": container,
            "follow": "true" if follow else "",
            "previous": "true" if previous else "",
            "sinceSeconds": str(since_seconds or ""),
            "sinceTime": since_time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if since_time else "",
            "tailLines": "" if tail_lines is None else str(tail_lines),
            "limitBytes": str(limit_bytes or ""),
            "timestamps": "true" if timestamps else "",
        },
    )


@asynccontextmanager
async def open_log(http: "Http", call: Call) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Open the stream and give an iterator over its chunks; leaving closes the connection.

    Nobody can know when a log ends, nor how long a container is silent, so there is no limit of time.

    Raises:
        RequestError: From entering: no answer, or a refusal. From the iteration: the connection was lost.
    """
    await http.take_turn()
    async with http.stream(call, within=math.inf) as chunks:
        yield chunks
