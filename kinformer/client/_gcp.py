"""Gcp: access tokens of ``gcloud``, for kubeconfigs that still have the ``auth-provider`` of that name.

client-go dropped it in 1.26 for an exec plugin; kubernetes-asyncio still knows it, and what works there works here.
"""

import shlex
from datetime import datetime
from typing import Annotated, Final

import msgspec

from kinformer.client._issuer import Issued
from kinformer.client._program import run_program
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["GcpIssuer"]

_PATIENCE: Final = 60.0
"""Seconds that ``gcloud`` has."""

_INSTEAD: Final = "Kubernetes itself dropped this auth-provider for the exec plugin gke-gcloud-auth-plugin"


class GcpIssuer:
    """Runs ``gcloud`` each time.

    Args:
        command: The program: ``cmd-path``.
        arguments: Its arguments in one text, as a shell would split them: ``cmd-args``.
        clock: Measures how long it takes.
    """

    def __init__(self, command: str, arguments: str, clock: Clock) -> None:
        self._command = command
        self._arguments = arguments
        self._clock = clock

    async def issue(self) -> Issued:
        """Run it and understand what it prints.

        Raises:
            ConfigError: It cannot be started, fails, or takes too long.
        """
        try:
            ended = await run_program(
                [self._command, *shlex.split(self._arguments)],
                env={},
                interactive=False,
                patience=_PATIENCE,
                clock=self._clock,
            )
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"gcloud, as {self._command!r}, could not be started: {error}; {_INSTEAD}"
            ) from error
        if ended is None:
            raise ConfigError(f"gcloud did not answer within {_PATIENCE:g} s; {_INSTEAD}")
        try:
            credential = _decode(ended.output).credential
        except (msgspec.DecodeError, RecursionError):
            raise ConfigError(
                f"gcloud ended with code {ended.code}, and without credential.access_token and token_expiry; {_INSTEAD}"
            ) from None
        return Issued(f"Bearer {credential.access_token}", expires=credential.token_expiry)


class _Credential(msgspec.Struct):
    access_token: str
    token_expiry: Annotated[datetime, msgspec.Meta(tz=True)]


class _Answer(msgspec.Struct):
    credential: _Credential


_decode: Final = msgspec.json.Decoder(_Answer).decode
