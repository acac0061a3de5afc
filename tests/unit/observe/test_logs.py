import json
import logging
from collections.abc import Iterator

import anyio
import pytest

from kinformer.controller import Controller, Request
from kinformer.meta import Resource
from kinformer.observe import JsonFormatter, ReconcileFilter, Reconciling, reconciling
from kinformer.testing import Cluster, config_map

CONFIG_MAPS = Resource.builtin("ConfigMap")
log = logging.getLogger("operator")


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.addFilter(ReconcileFilter())
        self.setFormatter(JsonFormatter())
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def told(self, message: str) -> list[dict[str, object]]:
        lines: list[dict[str, object]] = [json.loads(self.format(record)) for record in self.records]
        return [line for line in lines if message in str(line["message"])]


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    logging.getLogger().addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    logging.getLogger().removeHandler(handler)


async def test_each_line_of_a_reconcile_says_which_one_it_belongs_to(lines: Lines) -> None:
    async def work(request: Request) -> None:
        log.info("in a task of %s", request.reconcile_id)

    async def reconcile(request: Request) -> None:
        log.info("at work on %s", request.reconcile_id)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, request)
        if request.attempt == 1:
            raise ValueError("once")

    def plain(request: Request) -> None:
        log.info("in a thread of %s", request.reconcile_id)

    controllers = (
        Controller("maps", reconcile).watches(CONFIG_MAPS),
        Controller("threads", plain).watches(CONFIG_MAPS),
    )
    async with Cluster(config_map("a")) as cluster, cluster.running(*controllers):
        await cluster.until(lambda: len(lines.told("at work")) == 2 and bool(lines.told("in a thread")))
    for line in (*lines.told("at work"), *lines.told("in a task"), *lines.told("in a thread")):
        assert line["reconcile_id"] == str(line["message"]).rpartition(" ")[2]
        assert line["key"] == "default/a"
        assert line["logger"] == "operator"
    assert [line["attempt"] for line in lines.told("at work")] == [1, 2]
    assert {line["controller"] for line in lines.told("in a thread")} == {"threads"}
    (failure,) = lines.told("reconcile of default/a failed")
    assert failure["reconcile_id"] == lines.told("at work")[0]["reconcile_id"]
    assert failure["reasons"] == ["ConfigMap default/a listed"]
    assert "ValueError: once" in str(failure["error"])
    ids = {str(line["reconcile_id"]) for line in (*lines.told("at work"), *lines.told("in a thread"))}
    assert len(ids) == 3


def test_a_line_from_elsewhere_has_the_names_too_but_they_are_empty(lines: Lines) -> None:
    log.info("elsewhere")
    (record,) = lines.records
    formatted = logging.Formatter("%(controller)s|%(cluster)s|%(key)s|%(reconcile_id)s|%(message)s").format(
        record
    )
    assert formatted == "||||elsewhere"
    assert lines.told("elsewhere")[0].keys() == {"time", "level", "logger", "message"}


def test_what_a_line_says_itself_holds(lines: Lines) -> None:
    token = reconciling.set(Reconciling("maps", "", "default/a", "f00-1", 2))
    log.info("about another", extra={"key": "default/b"})
    reconciling.reset(token)
    (line,) = lines.told("about another")
    assert (line["key"], line["controller"], line["attempt"]) == ("default/b", "maps", 2)


def test_what_json_cannot_hold_is_given_in_words(lines: Lines) -> None:
    log.info("odd", extra={"what": object, "resource": CONFIG_MAPS, "none": None})
    (line,) = lines.told("odd")
    assert line["what"] == "<class 'object'>"
    assert "none" not in line
    assert str(line["time"]).endswith("Z")
    assert line["level"] == "INFO"
    assert "\n" not in lines.format(lines.records[0])
