"""What users and we test with: a clock that a test moves, a cluster in memory, builders."""

from kinformer.testing._clock import FakeClock, settle
from kinformer.testing._transport import AppTransport

__all__ = ["AppTransport", "FakeClock", "settle"]
