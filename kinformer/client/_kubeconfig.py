"""Kubeconfig: a kubeconfig, and a context in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kinformer.client._config import Config
from kinformer.clock import Clock
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock

__all__ = ["Kubeconfig"]


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Which kubeconfig, and which context in it.

    Attributes:
        path: The file, or several with the system's path separator between them; the first one wins in what they have
            in common. ``""`` means ``$KUBECONFIG``, else ``~/.kube/config``.
        context: The context's name; ``""`` means the current one.
    """

    path: str | Path = ""
    context: str = ""

    @classmethod
    def find(cls, environ: Mapping[str, str] | None = None) -> Self | None:
        """The one that ``$KUBECONFIG`` names, whether it exists or not; else ``~/.kube/config`` if it exists."""
        if named := (os.environ if environ is None else environ).get("KUBECONFIG"):
            return cls(named)
        try:
            usual = Path.home() / ".kube" / "config"
        except RuntimeError:  # as for a user without a name, such as pods may have
            return None
        return cls(usual) if os.path.exists(usual) else None  # noqa: PTH110 -- pathlib raises where it may not look

    async def load(self, *, clock: Clock | None = None) -> Config:
        """Read the files, run the exec plugin or ask the identity provider if there is one, and say what came out.

        What is read later, and not now: token files, certificates in files, and new credentials of a plugin or provider.

        Args:
            clock: Tells how long a plugin or provider may take, and when to ask it again.

        Raises:
            ConfigError: A file or context is missing or malformed, or the plugin failed; the message names the file,
                the field, and what to do.
        """
        # Most programs never need it: what reads kubeconfigs and runs plugins is a quarter of what the library imports.
        from kinformer.client._kubeconfig_loading import load

        try:
            return await load(self._paths(), self.context, clock or SystemClock())
        except ConfigError as error:
            # Its traceback begins here: the frames below hold secrets, which some tools show.
            raise error.with_traceback(None)  # noqa: B904 -- its own cause stays

    def _paths(self) -> list[Path]:
        found = self if self.path else self.find()
        if found is None:
            raise ConfigError("there is no ~/.kube/config: write one, set KUBECONFIG, or give the path")
        try:
            return [Path(part).expanduser() for part in str(found.path).split(os.pathsep) if part]
        except RuntimeError as error:  # a user without a home, or nobody of that name
            raise ConfigError(f"kubeconfig {found.path} cannot be found: {error}") from error
