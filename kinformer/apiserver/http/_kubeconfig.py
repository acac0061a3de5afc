"""A kubeconfig for an embedded apiserver, written so that nobody's own file is ever lost (rule A-6)."""

import base64
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["kubeconfig_text", "write_kubeconfig"]

_MARKER: Final = "# Written by kinformer for an embedded apiserver; it may be overwritten by the next one."


def kubeconfig_text(url: str, *, authority: str = "", token: str = "") -> str:
    """The file's text: one cluster, one user, one context, namespace ``default``.

    It is JSON, which is YAML too, below a comment line by which ``write_kubeconfig`` knows its own files.

    Args:
        url: Of the server.
        authority: Who signed the server's certificate, as PEM text; ``""`` for a server without TLS.
        token: The user's; ``""`` for a user without credentials.
    """
    trusted = (
        {"certificate-authority-data": base64.b64encode(authority.encode()).decode()} if authority else {}
    )
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "kinformer",
        "clusters": [{"name": "kinformer", "cluster": {"server": url, **trusted}}],
        "users": [{"name": "kinformer", "user": {"token": token} if token else {}}],
        "contexts": [
            {
                "name": "kinformer",
                "context": {"cluster": "kinformer", "user": "kinformer", "namespace": "default"},
            }
        ],
    }
    return f"{_MARKER}\n{msgspec.json.format(msgspec.json.encode(config)).decode()}\n"


def write_kubeconfig(path: str | os.PathLike[str], text: str) -> Path:
    """Write a file of ``kubeconfig_text``, mode 0600, in one step: a reader sees the old one or the new one, never a half.

    Returns:
        The path.

    Raises:
        FileNotFoundError: There is no folder for it; a mistyped path is not made true.
        FileExistsError: There is a file that this function did not write; it is left as it is.
        OSError: The place cannot be written to.
    """
    target = Path(path).expanduser()
    if target.is_dir():
        raise FileExistsError(f"{target} is a folder: name a file in it, such as {target / 'kubeconfig'}")
    if target.exists() and not _is_ours(target):
        raise FileExistsError(
            f"{target} exists and was not written by kinformer, so it is left alone: choose another path, or move it away"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target.parent} is no folder: make it, or choose another path for the kubeconfig"
        )
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline().rstrip() == _MARKER.encode()
