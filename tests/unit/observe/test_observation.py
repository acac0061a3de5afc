import anyio

from kinformer.observe import Address, Metrics, Observation, Report
from kinformer.testing import FakeClock, settle

REPORT = Report("running", (), (), ())


async def test_how_late_the_loop_is_gets_measured_each_second() -> None:
    clock, metrics = FakeClock(), Metrics()
    observation = Observation(
        Address("127.0.0.1", 0), lambda: REPORT, load=dict, metrics=metrics, clock=clock
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(observation.run)
        await clock.advance(3.5)
        observation.close()
        await settle()
    assert (metrics.tally.loop_lag.count, metrics.tally.loop_lag.total) == (3, 0.0)
    assert clock.next_timer is None


async def test_each_path_has_an_answer() -> None:
    observation = Observation(Address("", 0), lambda: REPORT, load=dict, clock=FakeClock())
    assert {path: route().status for path, route in observation.routes.items()} == {
        "/healthz": 200,
        "/readyz": 200,
        "/metrics": 200,
        "/debug": 200,
        "/debug.json": 200,
    }
