"""``kinformer apiserver``: serve until interrupted."""

from contextlib import suppress
from functools import partial

import anyio

from kinformer.cli._arguments import ApiserverCommand
from kinformer.cli._embedded import embedded
from kinformer.cli._interruption import interruptible, say

__all__ = ["serve"]


def serve(command: ApiserverCommand) -> int:
    """Serve, say where, and return 0 once interrupted.

    Raises:
        Complaint: It cannot be started; see ``embedded``.
    """
    with suppress(KeyboardInterrupt):  # from the moments before and after we listen to signals
        anyio.run(partial(_serve, command))
    return 0


async def _serve(command: ApiserverCommand) -> None:
    with interruptible():
        async with embedded(
            port=command.port,
            kubeconfig=command.write_kubeconfig,
            etcd=command.etcd,
            tls=command.tls,
            rbac=command.rbac,
        ) as server:
            say(f"{server}\nTry: kubectl --kubeconfig {server.kubeconfig} get namespaces\nCtrl-C ends it.\n")
            await anyio.sleep_forever()
