"""Calls: one connection to an etcd, and what its refusals mean."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import grpc
import grpc.aio

from kinformer.apiserver.storage._errors import (
    CompactedError,
    FutureRevisionError,
    TransactionError,
    UnavailableError,
)
from kinformer.apiserver.storage.etcd._access import EtcdTls, EtcdUser
from kinformer.apiserver.storage.etcd._messages import MESSAGES

__all__ = ["Calls", "translate"]

_METHODS: Final = {
    "Range": ("KV/Range", "RangeRequest", "RangeResponse"),
    "Txn": ("KV/Txn", "TxnRequest", "TxnResponse"),
    "Compact": ("KV/Compact", "CompactionRequest", "CompactionResponse"),
    "Authenticate": ("Auth/Authenticate", "AuthenticateRequest", "AuthenticateResponse"),
    "Status": ("Maintenance/Status", "StatusRequest", "StatusResponse"),
}

_OPTIONS: Final = (
    # Lists and watches that catch up are larger than the 4 MiB that are the default.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Whoever comes back should not wait for two minutes, nor share a connection with another loop.
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.use_local_subchannel_pool", 1),
)


_LOGGED_OUT: Final = ("invalid auth token", "revision of auth store is old")
"""What etcd says of a token that it does not know, or that is from before users were changed."""


class Calls:
    """The methods of an etcd that are used here, and the connection to it.

    Args:
        endpoint: ``host:port``.
        tls: How to trust it; ``None`` speaks without TLS, as etcd listens on loopback.
        user: Whom to log in as; ``None`` does not.
    """

    def __init__(self, endpoint: str, *, tls: EtcdTls | None = None, user: EtcdUser | None = None) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._user = user
        self._token = ""
        self._channel: Any = None
        self._unary: dict[str, Any] = {}
        self._watch: Any = None

    def open(self) -> None:
        """Make the connection ready; it is made by the first call."""
        if self._channel is not None:
            raise RuntimeError(f"the connection to etcd at {self._endpoint} is open")
        if self._tls is None:
            self._channel = grpc.aio.insecure_channel(self._endpoint, options=_OPTIONS)
        else:
            credentials = self._tls.credentials()
            self._channel = grpc.aio.secure_channel(self._endpoint, credentials, options=_OPTIONS)
        for name, (method, _, response) in _METHODS.items():
            self._unary[name] = self._channel.unary_unary(
                f"/etcdserverpb.{method}",
                request_serializer=_serialize,
                response_deserializer=MESSAGES[response].FromString,
            )
        self._watch = self._channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=_serialize,
            response_deserializer=MESSAGES["WatchResponse"].FromString,
        )

    async def close(self) -> None:
        """End the connection, and every call on it."""
        channel, self._channel = self._channel, None
        await channel.close()

    async def unary(self, name: str, request: Any = None, *, revision: int = 0, current: int = 0) -> Any:
        """Ask and wait for the answer.

        Args:
            name: Which method.
            request: Its message, by default an empty one.
            revision: What to name in an error as the revision that was asked for.
            current: What to name as the current one.
        """
        if request is None:
            request = MESSAGES[_METHODS[name][1]]()
        await self.log_in()
        try:
            try:
                return await self._call(name, request)
            except grpc.aio.AioRpcError as error:
                if not self._is_logged_out(error.details() or ""):
                    raise
            await self.log_in()
            return await self._call(name, request)
        except grpc.aio.AioRpcError as error:
            raise self.failure(error.details() or error.code().name, revision, current) from error

    async def log_in(self) -> None:
        """Get a token where one is needed and there is none; to be awaited before ``watch``.

        Raises:
            UnavailableError: The name or the password is wrong, or etcd cannot be reached.
        """
        self._check_open()
        if self._user is None or self._token:
            return
        request = MESSAGES["AuthenticateRequest"](name=self._user.name, password=self._user.password)
        try:
            self._token = (await self._call("Authenticate", request)).token
        except grpc.aio.AioRpcError as error:
            raise self.failure(error.details() or error.code().name) from error

    @contextmanager
    def watch(self) -> Iterator[Any]:
        """A stream of watches, with ``read`` and ``write``; it ends with the block."""
        self._check_open()
        call = self._watch(metadata=self._metadata())
        try:
            yield call
        finally:
            call.cancel()

    def failure(self, text: str, revision: int = 0, current: int = 0) -> Exception:
        """What it means that etcd says this; the revisions are those to name."""
        self._is_logged_out(text)
        return translate(text, self._endpoint, revision, current)

    async def _call(self, name: str, request: Any) -> Any:
        return await self._unary[name](request, metadata=self._metadata(), wait_for_ready=False)

    def _metadata(self) -> Sequence[tuple[str, str]]:
        return (("token", self._token),) if self._token else ()

    def _is_logged_out(self, text: str) -> bool:
        """Whether the token is not taken any more, so that another one is needed: they last for minutes."""
        is_logged_out = bool(self._token) and any(sign in text for sign in _LOGGED_OUT)
        if is_logged_out:
            self._token = ""
        return is_logged_out

    def _check_open(self) -> None:
        if self._channel is None:
            raise RuntimeError("an EtcdKV must be entered with 'async with' before it is used")


def translate(text: str, endpoint: str, revision: int = 0, current: int = 0) -> Exception:
    """The error for what etcd says; it has texts where others have codes."""
    if "has been compacted" in text:
        return CompactedError(revision, revision + 1)
    if "is a future revision" in text:
        return FutureRevisionError(revision, current)
    if "duplicate key" in text or "too many operations" in text:
        return TransactionError(text)
    return UnavailableError(f"etcd at {endpoint}: {text}")


def _serialize(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data
