"""Programs that issue credentials: run, read to their end, and killed when they take too long."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, Process

from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Ended", "run_program"]

_OUTPUT: Final = 1024 * 1024
"""Bytes that are read of what a program prints."""


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    output: bytes
    complaint: bytes
    """What it wrote to its standard error, unless people saw it."""


async def run_program(
    command: Sequence[str], *, env: Mapping[str, str], interactive: bool, patience: float, clock: Clock
) -> Ended | None:
    """Run a program to its end; ``None`` where it took too long.

    Whether it does, or the caller is cancelled: the program is killed, and so is what it started.

    Args:
        command: The program, looked up in ``PATH``, and its arguments.
        env: Its environment, on top of ours.
        interactive: Whether it may ask the person at the terminal; then it shares our standard input and error.
        patience: Seconds that it may take.
        clock: Measures them.

    Raises:
        OSError: It cannot be started.
        ValueError: An argument or variable holds what none can, such as NUL.
    """
    # Opening takes milliseconds, and is not to be cut short: it would leave a group that nobody kills.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            command,
            stdin=None if interactive else subprocess.DEVNULL,
            stderr=None if interactive else subprocess.PIPE,
            env={**os.environ, **env},
            start_new_session=not interactive,  # a group of its own, that can be killed as one
        )
    output, complaint, ended = bytearray(), bytearray(), None
    async with process:
        try:
            with clock.move_on_after(patience):
                async with open_task_group() as tasks:
                    for stream, into in ((process.stdout, output), (process.stderr, complaint)):
                        if stream is not None:
                            tasks.start_soon(_read, stream, into)
                ended = Ended(await process.wait(), bytes(output), bytes(complaint))
            return ended
        finally:
            if ended is None:
                _kill(process, has_group=not interactive)


async def _read(stream: ByteReceiveStream, into: bytearray) -> None:
    """Read to the end; what is too much is dropped, so that nobody waits for us."""
    async for chunk in stream:
        into += chunk[: _OUTPUT - len(into)]


def _kill(process: Process, *, has_group: bool) -> None:
    try:
        if has_group and sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass  # it has ended by itself
