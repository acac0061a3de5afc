import stat
from pathlib import Path

import pytest
import yaml

from kinformer.apiserver.http import kubeconfig_text, write_kubeconfig

URL = "http://127.0.0.1:8001"
TEXT = kubeconfig_text(URL)


def test_the_file_leads_to_the_server_a_6(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", TEXT)
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"] == {"server": URL}
    assert config["current-context"] == config["contexts"][0]["name"]
    assert config["contexts"][0]["context"]["namespace"] == "default"


def test_it_has_whom_to_trust_and_what_to_show() -> None:
    config = yaml.safe_load(kubeconfig_text(URL, authority="PEM", token="t"))
    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "UEVN"
    assert config["users"][0]["user"] == {"token": "t"}
    assert yaml.safe_load(TEXT)["users"][0]["user"] == {}


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", TEXT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_its_own_file_is_replaced_and_no_draft_stays(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", TEXT)
    write_kubeconfig(path, kubeconfig_text("http://127.0.0.1:9"))
    assert "127.0.0.1:9" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", ["apiVersion: v1\n", "", "# mine\n"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(FileExistsError, match="choose another path"):
        write_kubeconfig(path, TEXT)
    assert path.read_text() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_refused_with_a_better_path(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="name a file in it"):
        write_kubeconfig(tmp_path, TEXT)


def test_a_folder_that_is_missing_is_named_since_it_is_probably_a_typo(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere is no folder: make it, or choose another path"):
        write_kubeconfig(tmp_path / "nowhere" / "config", TEXT)


def test_a_failure_leaves_no_draft(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("")
    with pytest.raises(OSError, match="file"):
        write_kubeconfig(folder / "config", TEXT)
    assert list(tmp_path.iterdir()) == [folder]


def test_the_text_starts_with_the_mark() -> None:
    assert kubeconfig_text(URL).startswith("# Written by kinformer")
