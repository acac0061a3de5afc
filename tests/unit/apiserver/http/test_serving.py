import subprocess
import sys
from pathlib import Path

import pytest

from kinformer.apiserver import Endpoint


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:80"), ("localhost", "http://localhost:80"), ("::1", "http://[::1]:80")],
)
def test_a_url_can_be_used_as_it_is(host: str, url: str) -> None:
    assert Endpoint(host, 80).url == url


def test_the_kubeconfig_names_the_url_and_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    endpoint = Endpoint("127.0.0.1", 80)
    path = endpoint.write_kubeconfig(tmp_path / "config")
    assert endpoint.url in path.read_text()
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        endpoint.write_kubeconfig(path)


def test_an_endpoint_with_an_authority_speaks_https_and_shows_no_token() -> None:
    endpoint = Endpoint("127.0.0.1", 80, "PEM", "secret")
    assert endpoint.url == "https://127.0.0.1:80"
    assert "secret" not in repr(endpoint)


def test_uvicorn_is_not_imported_before_something_is_served() -> None:
    code = "import sys, kinformer.apiserver; sys.exit('uvicorn' in sys.modules or 'yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
