"""Replies: bytes with the right headers, errors as Status objects (rules H-12, H-14, E-1 to E-3)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.responses import Response

from kinformer.apiserver.http._accept import Form, Media
from kinformer.apiserver.registry import StatusError

__all__ = [
    "internal_error",
    "json_reply",
    "not_acceptable",
    "refusal",
    "text_reply",
    "unknown_path",
    "warning_headers",
]

_HEADERS: Final = {"Cache-Control": "no-cache, private"}
_WARNINGS_LIMIT: Final = 4096
_WARNING_CUT: Final = 256


def json_reply(
    content: bytes | Mapping[str, Any],
    *,
    form: Form = Form(),  # noqa: B008 -- frozen
    status: int = 200,
    warnings: Sequence[str] = (),
    is_pretty: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An object as JSON, or as YAML where ``form`` says so."""
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    if form.media is Media.YAML:
        body = _yaml(body)
    elif is_pretty:
        body = msgspec.json.format(body, indent=2) + b"\n"
    elif not body.endswith(b"\n"):
        body += b"\n"
    response = Response(body, status, {**_HEADERS, **(headers or {})}, form.media.value)
    for value in warning_headers(warnings):
        response.headers.append("Warning", value)
    return response


def text_reply(text: str, *, status: int = 200) -> Response:
    """Plain text."""
    return Response(text, status, dict(_HEADERS), "text/plain")


def unknown_path() -> Response:
    """404 for a path, group or version that is not there at all (H-7)."""
    return text_reply("404 page not found\n", status=404)


def refusal(error: StatusError) -> Response:
    """An error as its Status; always JSON (E-3)."""
    retry = {} if not error.retry_after else {"Retry-After": str(error.retry_after)}
    return json_reply(error.to_status(), status=error.code, headers=retry)


def not_acceptable() -> StatusError:
    """406: nothing that the client accepts can be had."""
    return StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: " + ", ".join(media.value for media in Media),
    )


def internal_error(error: Exception) -> StatusError:
    """500: something is wrong with this server; the text is the error's, never its traceback."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return StatusError(
        500, "InternalError", f"Internal error occurred: {text}", details={"causes": [{"message": text}]}
    )


def warning_headers(warnings: Sequence[str]) -> list[str]:
    """The values of the Warning headers, one for each distinct text; all are cut when they are too long in sum."""
    texts = [" ".join(text.split()) for text in dict.fromkeys(warnings)]
    if sum(map(len, texts)) > _WARNINGS_LIMIT:
        texts = [text[:_WARNING_CUT] for text in texts][: _WARNINGS_LIMIT // _WARNING_CUT]
    return ['299 - "' + _latin(text).replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts]


def _latin(text: str) -> str:
    """Header values are Latin-1."""
    return text.encode("latin-1", "replace").decode("latin-1")


def _yaml(body: bytes) -> bytes:
    import yaml  # costs 20 ms, and hardly anybody asks for YAML

    return yaml.safe_dump(msgspec.json.decode(body), sort_keys=False, allow_unicode=True).encode()
