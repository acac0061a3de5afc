from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from kinformer.client._gcp import GcpIssuer
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock


def gcloud(path: Path, text: str, clock: FakeClock | None = None) -> GcpIssuer:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return GcpIssuer(str(path), "config config-helper '--format=json'", clock or SystemClock())


async def test_a_token_is_what_gcloud_prints(tmp_path: Path) -> None:
    printed = '{"credential": {"access_token": "%s", "token_expiry": "2026-01-01T00:00:00Z"}}'
    issued = await gcloud(tmp_path / "gcloud", f"printf '{printed}' \"$2$3\"").issue()
    assert issued.authorization == "Bearer config-helper--format=json"
    assert issued.expires == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["exit 1", "echo hunter2", 'echo \'{"credential": "hunter2"}\'', "echo '[1]'"]
)
async def test_what_cannot_be_used_says_what_took_its_place(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        ConfigError, match="dropped this auth-provider for the exec plugin gke-gcloud-auth-plugin"
    ) as caught:
        await gcloud(tmp_path / "gcloud", text).issue()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("command", "arguments"), [("", ""), ("no-such-gcloud", ""), ("gcloud", "'open")])
async def test_what_cannot_be_started_is_named(command: str, arguments: str) -> None:
    with pytest.raises(
        ConfigError, match=f"gcloud, as '{command}', could not be started: .*gke-gcloud-auth-plugin"
    ):
        await GcpIssuer(command, arguments, SystemClock()).issue()


async def test_a_program_that_hangs_is_given_up_on(tmp_path: Path) -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:

        async def issue() -> None:
            with pytest.raises(ConfigError, match="did not answer within 60 s"):
                await gcloud(tmp_path / "gcloud", f"touch {tmp_path}/begun; exec sleep 1000", clock).issue()

        tasks.start_soon(issue)
        while not (tmp_path / "begun").exists():
            await SystemClock().sleep(0.01)
        await clock.advance(60)
