"""Answers: what is said to a request, as bytes. Pure."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias

from kinformer.observe._questions import Question

__all__ = ["FAILURE", "Answer", "Routes", "answer_to", "encoded"]

logger = logging.getLogger("kinformer.observe")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path has to say.

    Attributes:
        body: Text is sent as UTF-8. A function is what takes long to make: it is called in a thread, and so must not look
            at what belongs to the event loop.
        content_type: As in the header.
        status: The code.
        headers: More of them.
    """

    body: str | bytes | Callable[[], bytes]
    content_type: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


Routes: TypeAlias = Mapping[str, Callable[[], Answer]]
"""What is said, by path. They are called in the event loop, so they must be quick."""

FAILURE: Final = "this failed, see the log\n"
_METHODS: Final = {"GET", "HEAD"}


def answer_to(question: Question, routes: Routes) -> Answer:
    """The answer to a question, whatever it is. What a path fails with is logged, and its answer is a 500."""
    if question.method not in _METHODS:
        allowed = (("Allow", ", ".join(sorted(_METHODS))),)
        return Answer("only GET and HEAD\n", status=HTTPStatus.METHOD_NOT_ALLOWED, headers=allowed)
    route = routes.get(question.path)
    if route is None:
        paths = "".join(f"{path}\n" for path in routes)
        return Answer(f"nothing is here; there are:\n{paths}", status=HTTPStatus.NOT_FOUND)
    try:
        return route()
    except Exception:
        logger.exception("%s cannot be answered", question.path)
        return Answer(FAILURE, status=HTTPStatus.INTERNAL_SERVER_ERROR)


def encoded(answer: Answer, body: str | bytes, *, may_stay: bool, is_head: bool = False) -> bytes:
    """The bytes of an answer.

    Args:
        answer: What to say.
        body: Its body, as it was made.
        may_stay: Whether the connection is kept.
        is_head: Whether the body is left out, as for HEAD.
    """
    body = body.encode(errors="backslashreplace") if isinstance(body, str) else body
    headers = (
        ("Content-Type", answer.content_type),
        ("Content-Length", str(len(body))),
        ("Connection", "keep-alive" if may_stay else "close"),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        *answer.headers,
    )
    lines = [f"HTTP/1.1 {answer.status.value} {answer.status.phrase}", *(f"{n}: {v}" for n, v in headers)]
    head = "\r\n".join((*lines, "", "")).encode("ascii")
    return head if is_head else head + body
