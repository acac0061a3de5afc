"""Complaint: what the user can mend, as one line."""

__all__ = ["Complaint"]


class Complaint(Exception):  # noqa: N818 -- it is a sentence for the user; the error is theirs to name
    """Ends the command with exit code 2 and this one line on stderr, without a traceback of ours.

    Attributes:
        details: What is to be shown before the line, such as the traceback of the user's own file.
    """

    def __init__(self, message: str, *, details: str = "") -> None:
        super().__init__(message)
        self.details = details
