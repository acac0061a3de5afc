"""Frames: what some tools show of an error, and what must not be in them."""

__all__ = ["forget_frames"]


def forget_frames(error: BaseException) -> None:
    """Take the tracebacks off an error and those that it came of.

    For errors of transports: their frames hold the headers of a request, and tools that report errors show what is in
    frames.
    """
    reason: BaseException | None = error
    while reason is not None:
        reason = reason.with_traceback(None)
        reason = reason.__cause__ or reason.__context__
