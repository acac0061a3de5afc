"""What a reflector tells: loud when something begins or ends, quiet in between."""

import logging

import pytest

from kinformer.errors import ApiError, DecodeError, ExpiredError, ForbiddenError, ServerError, TransportError
from kinformer.hooks import NoHooks, ObjectQuarantined, WatchListDelayed
from kinformer.meta import Object, Resource
from kinformer.reflector._machine import Watching
from kinformer.reflector._report import Report
from kinformer.testing import FakeClock, added


class Diary(NoHooks):
    """Hooks that keep what was quarantined and what was late."""

    def __init__(self) -> None:
        self.quarantined: list[ObjectQuarantined] = []
        self.delayed: list[WatchListDelayed] = []

    def watch_list_delayed(self, event: WatchListDelayed, /) -> None:
        self.delayed.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.quarantined.append(event)


def fail(report: Report, error: Exception) -> None:
    report.failed(Watching("5"), Watching("5"), error, 1.2)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="kinformer.reflector")
    return caplog


def test_an_outage_is_one_warning_and_one_recovery(log: pytest.LogCaptureFixture) -> None:
    report = Report("pods", FakeClock(), NoHooks())
    report.recovered()
    for _ in range(3):
        fail(report, TransportError("reset"))
    report.recovered()
    report.recovered()
    assert [record.levelname for record in log.records] == ["WARNING", "DEBUG", "DEBUG", "INFO"]
    assert log.messages[0] == "pods: no changes are arriving; trying again in 1.2 s: reset"


def test_an_expired_version_is_routine(log: pytest.LogCaptureFixture) -> None:
    report = Report("pods", FakeClock(), NoHooks())
    fail(report, ExpiredError(410))
    report.recovered()
    fail(report, ExpiredError(410))
    fail(report, TransportError("reset"))
    assert [record.levelname for record in log.records] == ["DEBUG", "DEBUG", "WARNING"]


def test_trouble_of_another_kind_is_news(log: pytest.LogCaptureFixture) -> None:
    report = Report("pods", FakeClock(), NoHooks())
    for error in (TransportError("reset"), ServerError(503), ForbiddenError(403), ForbiddenError(403)):
        fail(report, error)
    assert [record.levelname for record in log.records] == ["WARNING", "DEBUG", "WARNING", "DEBUG"]


@pytest.mark.parametrize(
    ("error", "has_traceback"), [(ServerError(500), False), (RuntimeError("a bug"), True)], ids=repr
)
def test_only_an_error_that_is_not_ours_comes_with_its_traceback(
    error: ApiError | RuntimeError, has_traceback: bool, log: pytest.LogCaptureFixture
) -> None:
    fail(Report("pods", FakeClock(), NoHooks()), error)
    assert bool(log.records[0].exc_info) is has_traceback


def test_a_late_bookmark_is_one_warning_until_it_has_come_and_the_hooks_hear_of_it_each_time(
    log: pytest.LogCaptureFixture,
) -> None:
    hooks = Diary()
    report = Report("pods", FakeClock(), hooks)
    report.delayed(0, 10.0)
    report.delayed(3, 20.0)
    report.recovered()
    report.delayed(1, 10.0)
    assert [record.levelname for record in log.records] == ["WARNING", "DEBUG", "WARNING"]
    late = "pods: the bookmark that ends the watch-list is late: "
    assert log.messages[:2] == [
        f"{late}nothing has come for 10 s, and no events before",
        f"{late}nothing has come for 20 s, and 3 events before",
    ]
    assert hooks.delayed == [
        WatchListDelayed("pods", 0, 10.0),
        WatchListDelayed("pods", 3, 20.0),
        WatchListDelayed("pods", 1, 10.0),
    ]


def test_a_quarantined_object_is_named_everywhere_until_it_can_be_read(log: pytest.LogCaptureFixture) -> None:
    hooks = Diary()
    report = Report("pods", FakeClock(), hooks)
    error = DecodeError("labels is null", key="default/a")
    report.quarantined(error)
    assert hooks.quarantined == [ObjectQuarantined("pods", "default/a", error)]
    assert log.messages == ["pods: cannot read default/a: labels is null"]
    assert report.conditions.view["Decoding"].status
    content = {"metadata": {"namespace": "default", "name": "a", "resourceVersion": "7"}}
    report.applied([added(Object.from_mapping(content, Resource.builtin("Pod")))])
    assert not report.conditions.view["Decoding"].status
