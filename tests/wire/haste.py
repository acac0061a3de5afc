"""What real time may be asserted on a machine that has other things to do."""

import os
from typing import Final

_BUSY: Final = 5.0
"""How many times longer something may take while others want the processors too. What hangs takes longer still."""


def is_soon(took: float, limit: float) -> bool:
    """Whether something that took so many seconds kept to its limit, which is meant for an idle machine."""
    return took < limit or (_is_busy() and took < _BUSY * limit)


def _is_busy() -> bool:
    if "PYTEST_XDIST_WORKER" in os.environ or not hasattr(os, "getloadavg"):  # Windows does not tell
        return True
    return os.getloadavg()[0] > (os.cpu_count() or 1) / 2
