"""ExecIssuer: runs an exec plugin and reads what it prints."""

import sys
from typing import Final

from kinformer.client._exec_plugin import ExecPlugin
from kinformer.client._issuer import Issued
from kinformer.client._program import run_program
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["ExecIssuer"]

_PATIENCE: Final = 60.0
"""Seconds that a run may take."""

_PATIENCE_WITH_PEOPLE: Final = 600.0
"""Seconds that it may take where somebody has to log in meanwhile."""


class ExecIssuer:
    """Runs a plugin each time. client-go waits for one without limit; here it is killed when it takes too long."""

    def __init__(self, plugin: ExecPlugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock

    async def issue(self) -> Issued:
        """Run the program and understand what it prints.

        Raises:
            ConfigError: It is not there, takes too long, fails, or prints something else.
        """
        plugin = self._plugin
        interactive = plugin.is_interactive(has_terminal=_has_terminal())
        patience = _PATIENCE_WITH_PEOPLE if interactive else _PATIENCE
        try:
            ended = await run_program(
                [plugin.command, *plugin.args],
                env={**plugin.env, "KUBERNETES_EXEC_INFO": plugin.request(interactive=interactive)},
                interactive=interactive,
                patience=patience,
                clock=self._clock,
            )
        except OSError as error:
            raise plugin.missing(error) from error
        except ValueError:
            raise ConfigError(
                f"{plugin}: its arguments and variables must not hold NUL, nor its names '='"
            ) from None
        if ended is None:
            raise ConfigError(
                f"{plugin} did not answer within {patience:g} s, and was killed: run it by hand to see why"
            )
        if ended.code != 0:
            raise plugin.failed(ended.code, ended.complaint)
        return plugin.issued(ended.output)


def _has_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is none, or it was closed
        return False
