"""Kubeconfigs for tests, and exec plugins that they name."""

import json
import stat
from pathlib import Path
from typing import Any

from kinformer.client import Kubeconfig


def content(**user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "contexts": [
            {"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "prod", "context": {"cluster": "p", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://dev:6443/"}},
            {"name": "p", "cluster": {"server": "http://prod:8080"}},
        ],
        "users": [{"name": "u", "user": user}],
    }


ANSWER = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
PLUGIN = {
    "apiVersion": ANSWER["apiVersion"],
    "command": "sh",
    "args": ["-c", f"echo '{json.dumps({**ANSWER, 'status': {'token': 't'}})}'"],
}


def write(path: Path, what: Any) -> Kubeconfig:
    path.write_text(what if isinstance(what, str) else json.dumps(what))  # JSON is YAML
    return Kubeconfig(path)


def plugin(path: Path, expires: str | None) -> dict[str, Any]:
    """An exec plugin whose token counts its runs."""
    script = path.parent / "plugin"
    status = {"token": "token-N"} | ({"expirationTimestamp": expires} if expires else {})
    answer = {**ANSWER, "status": status}
    text = f"#!/bin/sh\necho x >> {path.parent}/runs\nn=$(wc -l < {path.parent}/runs)\n"
    text += f'echo "$KUBERNETES_EXEC_INFO" > {path.parent}/asked\n'
    script.write_text(text + f"echo '{json.dumps(answer)}' | sed s/N/$((n))/\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(script),
        "interactiveMode": "Never",
    }
