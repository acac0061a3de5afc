import traceback

import pytest

from kinformer.client._frames import forget_frames


def inner(secret: str) -> None:
    int(f"not a number, and {len(secret)} letters")


def middle(secret: str) -> None:
    try:
        inner(secret)
    except ValueError as error:
        raise LookupError("middle") from error


def outer(secret: str) -> None:
    try:
        middle(secret)
    except LookupError:
        open("/no/such/outer")  # noqa: PTH123, SIM115 -- its error comes of the other by context only


def shown(error: Exception) -> str:
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


def test_no_frame_of_an_error_and_its_causes_is_left() -> None:
    with pytest.raises(OSError, match="outer") as caught:
        outer("hunter2")
    error = caught.value
    assert "hunter2" in shown(error)
    forget_frames(error)
    assert "hunter2" not in shown(error)
    for kept in ("not a number", "middle", "/no/such/outer"):
        assert kept in shown(error)
