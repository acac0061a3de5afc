"""Waiting for something to be true of an object, by watching it."""

import math
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from kinformer.client._claims import checked_claim, describe, has_condition, holds
from kinformer.client._pace import Pace
from kinformer.client._resource import ResourceClient
from kinformer.errors import (
    DecodeError,
    ExpiredError,
    FutureVersionError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import LATEST, EventType, Object, ObjectKey, WatchEvent

__all__ = ["wait_for"]

T = TypeVar("T")

_LONGEST_WATCH: Final = 300
"""Seconds after which a watch is opened anew."""


@overload
async def wait_for(
    client: ResourceClient[T], key: ObjectKey | str, claim: str, *, timeout: float, uid: str = ""
) -> T: ...
@overload
async def wait_for(
    client: ResourceClient[T],
    key: ObjectKey | str,
    claim: Callable[[T | None], bool],
    *,
    timeout: float,
    uid: str = "",
) -> T | None: ...
async def wait_for(
    client: ResourceClient[Any],
    key: ObjectKey | str,
    claim: str | Callable[[Any], bool],
    *,
    timeout: float,
    uid: str = "",
) -> Any:
    """Wait until something is true of one object, and return the object, or ``None`` where there is none.

    It lists and watches, so it asks about every state that the server tells of, and survives the end of watches,
    forgotten versions, lost connections and failures of the server until the time is up. While those last it asks ever
    more seldom, up to every 30 s.

    Of an object that another one of its name has replaced, unseen, it is known that it was gone in between: the claim is
    asked about ``None`` as well.

    Args:
        client: Of which resource; its clock measures the time. Selectors of ``where`` do not matter here.
        key: Which object; a bare name is in the namespace of ``where``. It need not exist yet.
        claim: The name of a condition such as ``"Ready"``, whose ``status`` must be ``"True"``, and be about the object's
            present ``generation`` where there is an ``observedGeneration``. Or a plain function of the object, or of
            ``None`` while there is none; ``is_deleted`` is one. What it raises is raised.
        timeout: Seconds; may be infinite.
        uid: Only the object that has this uid; another one of its name counts as none.

    Raises:
        TimeoutError: The time is up; the message says what was seen last.
        ApiError: The server refuses to let us read the object: no permission, no such resource.
        TypeError: The claim is async, or there is no resource to ask about.
        ValueError: The key does not fit the resource.
    """
    if not isinstance(client, ResourceClient):
        raise TypeError(f"client={client!r} must be of one resource: write client.resource(...)")
    wait = _Wait(client, client.key(key), claim, min(timeout, _LONGEST_WATCH), uid)
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
        uid: str,
    ) -> None:
        self.key = key
        self._source = (
            client.untyped.where(namespace=key.namespace, labels="", fields={"metadata.name": key.name})
        ).without_retries()
        self._model = client.model
        self._claim = checked_claim(claim)
        self._watch_time = max(1, math.ceil(watch_time))
        self._uid = uid
        self._pace = Pace()
        self._version = LATEST
        self._obj: Object | None = None
        self._has_seen = False
        self._has_heard = False
        self._failure: RequestError | None = None
        self._outcome: Any = None

    @property
    def seen(self) -> str:
        """What was seen last, for people."""
        state = describe(self._obj) if self._has_seen else "nothing, since no list succeeded"
        return f"{state}, and then: {self._failure}" if self._failure else state

    async def outcome(self) -> Any:
        clock = self._source.clock
        while True:
            started, retry_after = clock.monotonic(), 0.0
            self._has_heard = False
            try:
                if (self._version == LATEST and await self._look()) or await self._follow():
                    return self._outcome
            except (ExpiredError, FutureVersionError):  # the latter where a backup was restored
                self._version = LATEST
            except (TransportError, DecodeError, ServerError, ThrottledError) as error:
                self._failure = error
                retry_after = getattr(error, "retry_after", None) or 0.0
            lasted = clock.monotonic() - started
            await clock.sleep(self._pace.pause(lasted, told=self._has_heard, retry_after=retry_after))

    async def _look(self) -> bool:
        """Whether the claim is true already."""
        page = await self._source.list()
        if page.rejected:
            raise page.rejected[0]
        return self._take(page.items[0] if page.items else None, page.version)

    async def _follow(self) -> bool:
        """Whether the claim came true before the watch ended."""
        async with self._source.watch(version=self._version, timeout=self._watch_time) as batches:
            async for batch in batches:
                for event in batch:
                    if self._hear(event):
                        return True
        return False

    def _hear(self, event: WatchEvent) -> bool:
        if event.error is not None:
            raise event.error
        self._has_heard = True
        if event.type is EventType.BOOKMARK:
            self._version = event.version
            return False
        return self._take(None if event.type is EventType.DELETED else event.obj, event.version)

    def _take(self, obj: Object | None, version: str) -> bool:
        """Note a state, and say whether the claim is true of it or of what must have been before it."""
        if obj is not None and self._uid and obj.metadata.uid != self._uid:
            obj = None
        before, self._obj = self._obj, obj
        self._version, self._has_seen, self._failure = version, True, None
        is_replaced = before is not None and obj is not None and before.metadata.uid != obj.metadata.uid
        return (is_replaced and self._holds(None)) or self._holds(obj)

    def _holds(self, obj: Object | None) -> bool:
        try:
            found = None if obj is None else obj.decode(self._model)
        except DecodeError as error:  # the next state may fit the model again
            self._failure = error
            return False
        if isinstance(self._claim, str):
            is_true = obj is not None and has_condition(obj, self._claim)
        else:
            is_true = holds(self._claim, found)
        if is_true:
            self._outcome = found
        return is_true
