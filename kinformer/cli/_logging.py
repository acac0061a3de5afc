"""What of the log a command shows."""

import logging

__all__ = ["show_log"]


def show_log(*, verbose: bool) -> None:
    """Show our own log from INFO on, and of others what is worth a warning.

    A program that has configured the root logger, or the level of ``kinformer``, keeps what it has.

    Args:
        verbose: Show all of our own log.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", level=logging.WARNING)
    ours = logging.getLogger("kinformer")
    if verbose:
        ours.setLevel(logging.DEBUG)
    elif ours.level == logging.NOTSET:
        ours.setLevel(logging.INFO)
