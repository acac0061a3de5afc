"""``kinformer apiserver``: serve until interrupted."""

import signal
import sys
from contextlib import suppress
from functools import partial

import anyio

from kinformer.cli._arguments import ApiserverCommand
from kinformer.cli._embedded import embedded

__all__ = ["serve"]


def serve(command: ApiserverCommand) -> int:
    """Serve, say where, and return 0 once interrupted.

    Raises:
        Complaint: It cannot be started; see ``embedded``.
    """
    with suppress(
        KeyboardInterrupt
    ):  # from the moments before and after we listen to signals, and on Windows
        anyio.run(partial(_serve, command))
    return 0


async def _serve(command: ApiserverCommand) -> None:
    async with embedded(port=command.port, kubeconfig=command.write_kubeconfig) as server:
        sys.stdout.write(f"{server}\nTry: kubectl --kubeconfig {server.kubeconfig} get namespaces\n")
        sys.stdout.write("Ctrl-C ends it.\n")
        sys.stdout.flush()
        await _interruption()


async def _interruption() -> None:
    """Return at SIGINT or SIGTERM; where the event loop cannot hear them, Ctrl-C arrives as ``KeyboardInterrupt``."""
    try:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                return
    except NotImplementedError:
        await anyio.sleep_forever()
