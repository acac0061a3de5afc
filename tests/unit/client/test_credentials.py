import base64
import os
from pathlib import Path

import pytest

from kinformer.client import Anonymous, BasicAuth, BearerToken, TokenFile
from kinformer.errors import ConfigError


async def test_fixed_credentials_stay_the_same_and_out_of_sight() -> None:
    assert await Anonymous().authorization() == ""
    token = BearerToken("hunter2")
    assert (
        await token.authorization()
        == await token.authorization(rejected="Bearer hunter2")
        == "Bearer hunter2"
    )
    basic = BasicAuth("me", "hunter2")
    assert await basic.authorization() == "Basic " + base64.b64encode(b"me:hunter2").decode()
    assert "hunter2" not in repr(token) + repr(basic)


async def test_a_token_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    token = TokenFile(path)
    assert await token.authorization() == "Bearer one"
    path.write_text("three\n")
    assert await token.authorization() == "Bearer three"
    assert "three" not in repr(token)


async def test_a_swapped_link_counts_as_a_change(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (1000, 1000))
    (tmp_path / "token").symlink_to("one")
    token = TokenFile(tmp_path / "token")
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").replace(tmp_path / "token")
    assert await token.authorization() == "Bearer two"


async def test_a_refused_token_is_read_again_though_the_file_looks_the_same(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    os.utime(path, (1000, 1000))
    token = TokenFile(path)
    path.write_text("two")
    os.utime(path, (1000, 1000))
    assert await token.authorization() == "Bearer one"
    assert await token.authorization(rejected="Bearer one") == "Bearer two"


async def test_a_token_file_that_goes_bad_leaves_the_old_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    token = TokenFile(path)
    path.write_text("")
    assert await token.authorization() == "Bearer one"
    path.unlink()
    assert await token.authorization(rejected="Bearer one") == "Bearer one"


@pytest.mark.parametrize(
    ("content", "match"), [(None, "cannot be read"), (b"", "is empty"), (b"\xff", "cannot be read")]
)
def test_a_token_file_that_is_bad_from_the_start_is_named(
    tmp_path: Path, content: bytes | None, match: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"{path} {match}"):
        TokenFile(path)


def test_a_token_file_that_would_hold_up_the_loop_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    with pytest.raises(ConfigError, match="must be a regular file"):
        TokenFile(tmp_path / "token")


async def test_a_token_file_that_becomes_a_pipe_leaves_the_old_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    token = TokenFile(path)
    path.unlink()
    os.mkfifo(path)
    assert await token.authorization() == "Bearer one"


def test_a_path_that_no_file_can_have_is_told() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        TokenFile("to\0ken")


async def test_a_token_file_of_several_lines_is_refused_and_later_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\ntwo")
    with pytest.raises(ConfigError, match=f"token file {path} must hold one line"):
        TokenFile(path)
    path.write_text("one\n")
    token = TokenFile(path)
    path.write_text("one\ntwo")
    assert await token.authorization() == "Bearer one"
