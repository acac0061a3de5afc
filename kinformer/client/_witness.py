"""Witness: somebody who is there when a client writes, and may object. Pure."""

from typing import Protocol

from kinformer.client._calls import Call

__all__ = ["Witness"]


class Witness(Protocol):
    """Hears of each request that may change something, which is all that are no GET."""

    def sending(self, call: Call, /) -> None:
        """A write is about to be sent; what this raises, whoever writes gets instead."""

    async def answered(self, call: Call, answer: bytes, /) -> None:
        """The server has accepted a write; whoever writes gets the answer when this returns."""
