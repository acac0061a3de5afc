"""Pods of about 6 KB of JSON, the size that real ones have."""

import json
from typing import Any


def pod(index: int) -> dict[str, Any]:
    """One pod, in the key order and with the bookkeeping of a real server."""
    name = f"web-{index:06d}"
    environment = [{"name": f"SETTING_{i}", "value": f"{name}-value-{i:04d}"} for i in range(24)]
    container = {
        "name": "app",
        "image": f"registry.example.com/team/app:{index % 50}",
        "env": environment,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "100m", "memory": "128Mi"},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app"},
            {"name": "token", "mountPath": "/var/run/token"},
        ],
    }
    sidecar = container | {"name": "sidecar"}
    owned: dict[str, Any] = {
        f"f:{part}-{i}": {"f:a": {}, "f:b": {}} for part in ("metadata", "spec", "status") for i in range(16)
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "generateName": "web-",
            "namespace": f"team-{index % 20}",
            "uid": f"00000000-0000-4000-8000-{index:012d}",
            "resourceVersion": str(100_000 + index),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": f"app-{index % 40}", "tier": "web", "pod-template-hash": f"{index % 300:010d}"},
            "annotations": {"example.com/checksum": f"{index:064d}"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web",
                    "uid": f"{index % 300}",
                    "controller": True,
                }
            ],
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": owned}],
        },
        "spec": {
            "nodeName": f"node-{index % 500}",
            "containers": [container, sidecar],
            "restartPolicy": "Always",
        },
        "status": {"phase": "Running", "podIP": f"10.0.{index // 250 % 250}.{index % 250}"},
    }


def watch_line(index: int, kind: str = "MODIFIED") -> bytes:
    """The line that a server would send about it."""
    return json.dumps({"type": kind, "object": pod(index)}, separators=(",", ":")).encode() + b"\n"
