"""What a server says of itself: version, health, OpenAPI (rules D-7 to D-10)."""

from typing import Any, Final

from starlette.responses import Response

from kinformer.apiserver.http._accept import Form
from kinformer.apiserver.http._replies import json_reply, text_reply

__all__ = ["SERVER_VERSION", "about"]

SERVER_VERSION: Final = "v1.34.0"
"""The Kubernetes release whose behaviour is the measure, as ``/version`` tells it."""

_HEALTH: Final = {"healthz", "livez", "readyz"}
_OPENAPI_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def about(path: str, accept: str) -> Response | None:
    """Answer a GET outside of the API proper; ``None`` where the path means nothing."""
    segments = path.strip("/").split("/")
    if segments[0] in _HEALTH:
        return text_reply("ok")
    match segments:
        case [""]:
            return json_reply(
                {"paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/readyz", "/version"]}
            )
        case ["version"]:
            return json_reply(_version())
        case ["openapi", "v2"]:
            return _openapi_v2(accept)
        case ["openapi", "v3"]:
            return json_reply({"paths": {}})
        case _:
            return None


def _version() -> dict[str, str]:
    major, minor, _ = SERVER_VERSION[1:].split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{SERVER_VERSION}+kinformer",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }


def _openapi_v2(accept: str) -> Response:
    """No body is a valid, empty protobuf document: kubectl finds no schema in it and trusts the server (D-9)."""
    if "proto-openapi" in accept:
        return Response(b"", media_type=_OPENAPI_V2_PROTOBUF)
    document: dict[str, Any] = {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": SERVER_VERSION},
        "paths": {},
        "definitions": {},
    }
    return json_reply(document, form=Form())
