from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.client._program import Ended, run_program
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

HANG = "sleep 1000 & echo $! $$ > draft; mv draft pids; wait"
LEAVE = "sleep 1000 & echo $! $$ > draft; mv draft pids"


async def shell(text: str, folder: Path, clock: Clock | None = None) -> Ended | None:
    return await run_program(
        ["sh", "-c", f"cd {folder}; {text}"],
        env={},
        interactive=False,
        patience=60.0,
        clock=clock or SystemClock(),
    )


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # one that nobody waits for is dead all the same


async def started(folder: Path) -> list[int]:
    pids = folder / "pids"
    while not pids.exists():
        await SystemClock().sleep(0.01)
    return [int(pid) for pid in pids.read_text().split()]


async def gone(pids: list[int]) -> None:
    while any(map(is_running, pids)):
        await SystemClock().sleep(0.01)


async def test_what_a_program_prints_is_kept_apart_from_its_complaints(tmp_path: Path) -> None:
    assert await shell("echo out; echo err >&2; exit 3", tmp_path) == Ended(3, b"out\n", b"err\n")


async def test_a_program_that_prints_without_end_is_read_to_its_end(tmp_path: Path) -> None:
    ended = await shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", tmp_path)
    assert ended is not None
    assert (ended.code, len(ended.output), len(ended.complaint)) == (0, 1 << 20, 1 << 20)


@pytest.mark.parametrize("text", [HANG, LEAVE], ids=["it hangs", "what it started hangs"])
async def test_a_program_that_takes_too_long_is_killed_with_what_it_started(
    tmp_path: Path, text: str
) -> None:
    clock, ends = FakeClock(), []
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            ends.append(await shell(text, tmp_path, clock))

        tasks.start_soon(run)
        pids = await started(tmp_path)
        await clock.advance(59.9)
        assert is_running(pids[0])
        await clock.advance(0.1)
    assert ends == [None]
    await gone(pids)


@pytest.mark.parametrize("text", [HANG, LEAVE], ids=["it hangs", "what it started hangs"])
async def test_cancelling_kills_the_program_with_what_it_started(tmp_path: Path, text: str) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shell, text, tmp_path)
        pids = await started(tmp_path)
        tasks.cancel_scope.cancel()
    await gone(pids)


@pytest.mark.parametrize("turns", range(8))
async def test_cancelled_while_it_begins_a_program_leaves_nothing(tmp_path: Path, turns: int) -> None:
    clock, pids = SystemClock(), tmp_path / "pids"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shell, HANG, tmp_path)
        for _ in range(turns):
            await checkpoint()
        end = clock.monotonic() + 0.2
        while not pids.exists() and clock.monotonic() < end:
            pass  # it gets on, and the event loop does not
        tasks.cancel_scope.cancel()
    if pids.exists():
        await gone(await started(tmp_path))
    listed = await anyio.run_process(["ps", "-eo", "args"])
    assert str(tmp_path) not in listed.stdout.decode()
