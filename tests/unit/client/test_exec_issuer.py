import json
import os
from pathlib import Path

import anyio
import pytest

from kinformer.client._exec_issuer import ExecIssuer
from kinformer.client._exec_plugin import ExecPlugin
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock

PIECE = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def issuer(command: str, *args: str, clock: FakeClock | None = None, **env: str) -> ExecIssuer:
    return ExecIssuer(ExecPlugin(command, args, env), clock or SystemClock())


async def test_the_program_gets_its_arguments_environment_and_question(tmp_path: Path) -> None:
    command = script(
        tmp_path / "plugin",
        f"""echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/question
        printf '{PIECE}' "$1-$WORD-$KINFORMER_TEST" """,
    )
    os.environ["KINFORMER_TEST"] = "inherited"
    try:
        issued = await issuer(command, "argument", WORD="environment").issue()
    finally:
        del os.environ["KINFORMER_TEST"]
    assert issued.authorization == "Bearer argument-environment-inherited"
    question = json.loads((tmp_path / "question").read_text())
    assert question["spec"] == {"interactive": False}


async def test_a_program_that_asks_nobody_has_no_input(tmp_path: Path) -> None:
    command = script(tmp_path / "plugin", f"""read answer; printf '{PIECE}' "got-$answer" """)
    assert (await issuer(command).issue()).authorization == "Bearer got-"


async def test_a_missing_program_gives_the_hint(tmp_path: Path) -> None:
    plugin = ExecPlugin(str(tmp_path / "absent"), install_hint="See https://example.com/plugin")
    with pytest.raises(
        ConfigError, match=r"absent' could not be started .*\n\nSee https://example.com/plugin"
    ):
        await ExecIssuer(plugin, SystemClock()).issue()
    with pytest.raises(ConfigError, match="no-such-plugin' could not be started"):
        await issuer("no-such-plugin").issue()


async def test_a_program_that_may_not_be_run_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_text("#!/bin/sh\n")
    with pytest.raises(ConfigError, match="Permission denied"):
        await issuer(str(path)).issue()


@pytest.mark.parametrize(("args", "env"), [(("a\0b",), {}), ((), {"A=B": "c"}), ((), {"A": "\0"})])
async def test_what_no_program_can_be_given_is_refused(args: tuple[str, ...], env: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="must not hold NUL, nor its names '='"):
        await ExecIssuer(ExecPlugin("true", args, env), SystemClock()).issue()


async def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    command = script(tmp_path / "plugin", "echo '{\"hunter2' ; echo 'please log in' >&2; exit 3")
    with pytest.raises(ConfigError, match=r"ended with code 3: please log in$"):
        await issuer(command).issue()


async def test_a_program_that_prints_something_else_is_not_quoted(tmp_path: Path) -> None:
    command = script(tmp_path / "plugin", "echo hunter2")
    with pytest.raises(ConfigError, match="did not print an ExecCredential") as caught:
        await issuer(command).issue()
    assert "hunter2" not in str(caught.value)


async def test_a_program_that_hangs_is_given_up_on(tmp_path: Path) -> None:
    clock = FakeClock()
    command = script(tmp_path / "plugin", f"touch {tmp_path}/begun; exec sleep 1000")
    async with anyio.create_task_group() as tasks:

        async def issue() -> None:
            with pytest.raises(ConfigError, match="did not answer within 60 s, and was killed"):
                await issuer(command, clock=clock).issue()

        tasks.start_soon(issue)
        while not (tmp_path / "begun").exists():
            await SystemClock().sleep(0.01)
        await clock.advance(60)


async def test_with_a_terminal_the_program_may_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    saved = os.dup(0)
    try:
        os.dup2(theirs, 0)
        with open(0, closefd=False) as terminal:  # noqa: ASYNC230, PTH123 -- a descriptor
            monkeypatch.setattr("sys.stdin", terminal)
            os.write(ours, b"swordfish\n")
            command = script(
                tmp_path / "plugin",
                f"""echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/question; read word; printf '{PIECE}' "$word" """,
            )
            assert (await issuer(command).issue()).authorization == "Bearer swordfish"
    finally:
        os.dup2(saved, 0)
        for descriptor in (saved, ours, theirs):
            os.close(descriptor)
    assert json.loads((tmp_path / "question").read_text())["spec"] == {"interactive": True}


@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_process_without_standard_input_has_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    closed = (tmp_path / "file").open("w")
    closed.close()
    monkeypatch.setattr("sys.stdin", closed if is_closed else None)
    command = script(tmp_path / "plugin", f"printf '{PIECE}' t")
    assert (await issuer(command).issue()).authorization == "Bearer t"
