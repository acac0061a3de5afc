"""Waiting for objects, and trying again when somebody else was faster."""

import math
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final, TypeVar, overload

from kinformer.client._resource import ResourceClient
from kinformer.clock import Clock
from kinformer.errors import (
    AlreadyExistsError,
    ConflictError,
    DecodeError,
    ExpiredError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import LATEST, EventType, Object, ObjectKey
from kinformer.system_clock import SystemClock

__all__ = ["is_deleted", "retry_on_conflict", "wait_for"]

T = TypeVar("T")

_PAUSE: Final = 1.0
"""Seconds between two beginnings of a list or watch at least (``RetryWatcher`` has the same)."""

_LONGEST_WATCH: Final = 300


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    delay: float = 0.010,
    clock: Clock | None = None,
    random: Random | None = None,
) -> T:
    """Call ``attempt`` until it does not end in a conflict (``retry.RetryOnConflict`` with ``DefaultRetry``).

    It must read the object anew each time, or the next try will conflict as the last one did.

    Args:
        attempt: Reads, changes and replaces an object.
        attempts: How often it is called at most.
        delay: Seconds between two calls, to which up to a tenth is added at random.
        clock: What to wait by.
        random: Where the tenth comes from.

    Raises:
        ConflictError: The last attempt's own. An ``AlreadyExistsError`` is raised at once: waiting does not help.
    """
    if attempts < 1:
        raise ValueError(f"attempts {attempts} must be at least 1")
    clock = clock or SystemClock()
    random = random or Random()  # noqa: S311 -- spreads retries, keeps no secret
    for _ in range(attempts - 1):
        try:
            return await attempt()
        except AlreadyExistsError:
            raise
        except ConflictError:
            await clock.sleep(delay * (1 + 0.1 * random.random()))
    return await attempt()


def is_deleted(obj: object) -> bool:
    """The claim for ``wait_for`` that there is no such object."""
    return obj is None


@overload
async def wait_for(client: ResourceClient[T], key: ObjectKey | str, claim: str, *, timeout: float) -> T: ...
@overload
async def wait_for(
    client: ResourceClient[T], key: ObjectKey | str, claim: Callable[[T | None], bool], *, timeout: float
) -> T | None: ...
async def wait_for(
    client: ResourceClient[Any], key: ObjectKey | str, claim: str | Callable[[Any], bool], *, timeout: float
) -> Any:
    """Wait until something is true of one object, and return the object, or ``None`` where there is none.

    It lists and watches, so it sees every state that the server tells of, and survives the end of watches, forgotten
    versions, lost connections and failures of the server until the time is up.

    Args:
        client: Of which resource; its clock measures the time.
        key: Which object. It need not exist yet.
        claim: The name of a condition such as ``"Ready"``, whose ``status`` must be ``"True"`` and whose
            ``observedGeneration``, if it has one, must be the object's ``generation``. Or a function of the object, or of
            ``None`` while there is none; ``is_deleted`` is one.
        timeout: Seconds; may be infinite.

    Raises:
        TimeoutError: The time is up; the message says what was seen last.
        ApiError: The server refuses to let us read the object: no permission, no such resource.
    """
    wait = _Wait(client, client.resource.key(key), claim, min(timeout, _LONGEST_WATCH))
    with client.clock.move_on_after(timeout) as scope:
        obj = await wait.outcome()
    if not scope.cancelled_caught:
        return obj
    what = f"condition {claim}" if isinstance(claim, str) else getattr(claim, "__name__", "the claim")
    raise TimeoutError(
        f"{client.resource.kind} {wait.key}: {what} did not come true within {timeout:g} s; last seen: {wait.seen}"
    )


class _Wait:
    """One object, followed until the claim holds of it."""

    def __init__(
        self,
        client: ResourceClient[Any],
        key: ObjectKey,
        claim: str | Callable[[Any], bool],
        watch_time: float,
    ) -> None:
        self.key = key
        self._source = (
            client.untyped.where(namespace=key.namespace, labels="", fields={"metadata.name": key.name})
        ).without_retries()
        self._model = client.model
        self._claim = claim
        self._watch_time = max(1, math.ceil(watch_time))
        self._version = LATEST
        self._obj: Object | None = None
        self._has_seen = False
        self._failure: RequestError | None = None

    @property
    def seen(self) -> str:
        """What was seen last, for people."""
        state = _described(self._obj) if self._has_seen else "nothing, since no list succeeded"
        return f"{state}, and then: {self._failure}" if self._failure else state

    async def outcome(self) -> Any:
        clock = self._source.clock
        while True:
            started, pause = clock.monotonic(), _PAUSE
            try:
                if self._version == LATEST:
                    await self._look()
                if self._holds() or await self._follow():
                    return None if self._obj is None else self._obj.decode(self._model)
            except ExpiredError:
                self._version = LATEST
            except (TransportError, DecodeError, ServerError, ThrottledError) as error:
                self._failure = error
                pause = max(pause, getattr(error, "retry_after", None) or 0.0)
            await clock.sleep(started + pause - clock.monotonic())

    async def _look(self) -> None:
        page = await self._source.list()
        if page.rejected:
            raise page.rejected[0]
        self._take(page.items[0] if page.items else None, page.version)

    async def _follow(self) -> bool:
        """Whether the claim came true before the watch ended."""
        async with self._source.watch(version=self._version, timeout=self._watch_time) as batches:
            async for batch in batches:
                for event in batch:
                    if event.error is not None:
                        raise event.error
                    if event.type is EventType.BOOKMARK:
                        self._version = event.version
                        continue
                    self._take(None if event.type is EventType.DELETED else event.obj, event.version)
                    if self._holds():
                        return True
        return False

    def _take(self, obj: Object | None, version: str) -> None:
        self._obj, self._version = obj, version
        self._has_seen, self._failure = True, None

    def _holds(self) -> bool:
        if isinstance(self._claim, str):
            return self._obj is not None and _has_condition(self._obj, self._claim)
        return self._claim(None if self._obj is None else self._obj.decode(self._model))


def _has_condition(obj: Object, name: str) -> bool:
    return any(
        condition.get("type") == name
        and condition.get("status") == "True"
        and condition.get("observedGeneration", obj.metadata.generation) >= obj.metadata.generation
        for condition in obj.at("status", "conditions", default=())
    )


def _described(obj: Object | None) -> str:
    if obj is None:
        return "no such object"
    conditions = ", ".join(
        f"{condition.get('type')}={condition.get('status')}"
        for condition in obj.at("status", "conditions", default=())
    )
    return f"version {obj.metadata.resource_version} with {conditions or 'no conditions'}"
