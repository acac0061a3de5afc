"""What one who added a handler can see of it."""

from types import MappingProxyType

import pytest

from kinformer.errors import ClosedError
from kinformer.informer import Added
from kinformer.informer._backlog import InOrder, Waiting
from kinformer.informer._handlers import calls_of
from kinformer.informer._listener import Listener
from kinformer.informer._registration import Registration
from kinformer.informer._views import Views
from kinformer.meta import Object
from kinformer.testing import FakeClock
from tests.unit.informer.stage import Heard, pod


def listener_of(clock: FakeClock) -> Listener[Object]:
    return Listener(
        "h",
        calls_of(lambda told: None),
        InOrder(),
        Views(Object),
        informer="pods",
        clock=clock,
        hooks=Heard(),
    )


async def test_a_registration_says_how_its_handler_is_doing() -> None:
    clock = FakeClock()
    listener = listener_of(clock)
    registration = Registration(listener)
    assert (registration.name, registration.is_synced) == ("h", False)
    one = pod("a", 1).record
    listener.begin(MappingProxyType({one.key: one}), clock.monotonic())
    listener.offer([Waiting(clock.monotonic(), Added(pod("b", 2).record))])
    await clock.advance(3)
    assert (registration.backlog, registration.high_water, registration.oldest_age) == (2, 2, 3.0)
    assert (registration.delivered, registration.failures) == (0, 0)
    assert repr(registration) == "<handler h: 2 waiting, 0 told, 0 lost>"


async def test_the_waits_of_a_removed_handler_end() -> None:
    listener = listener_of(FakeClock())
    registration = Registration(listener)
    listener.close()
    await registration.wait_ended()
    with pytest.raises(ClosedError, match="handler 'h' of pods was removed"):
        await registration.wait_synced()
    assert not registration.is_synced
