"""The requests of a client that has a witness."""

from kinformer.client._calls import Call
from kinformer.client._http import Http
from kinformer.client._witness import Witness

__all__ = ["WitnessedHttp"]


class WitnessedHttp(Http):
    """The requests of another one, with a witness; the connections are shared, and the other's to close."""

    def __init__(self, inner: Http, witness: Witness) -> None:
        self.__dict__.update(vars(inner))  # the same pool, turns and warnings; it is open by now
        self._witness = witness

    async def request(self, call: Call, *, retries: bool = True) -> bytes:
        """See ``Http.request``."""
        if call.method == "GET":
            return await super().request(call, retries=retries)
        self._witness.sending(call)
        answer = await super().request(call, retries=retries)
        await self._witness.answered(call, answer)
        return answer
