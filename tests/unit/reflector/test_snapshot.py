"""A snapshot is handed over as it was collected, and used up."""

import weakref
from collections.abc import Callable, Sequence

import pytest

from kinformer.meta import Object, Record, Resource
from kinformer.reflector._snapshot import Snapshot

PODS = Resource.builtin("Pod")


class Traced(Record, frozen=True, gc=True, weakref=True):
    """A record that can be seen to be gone."""


def traced(number: int) -> Traced:
    record = Object.from_mapping({"metadata": {"namespace": "n", "name": str(number)}}, PODS).record
    return Traced(record.resource, record.key, record.metadata, record.held)


def of_pages(records: Sequence[Record]) -> Snapshot:
    return Snapshot.of_pages([(record,) for record in records], "9", [])


def of_events(records: Sequence[Record]) -> Snapshot:
    return Snapshot.of_events({record.key: record for record in records}, "9", [])


@pytest.mark.parametrize("make", [of_pages, of_events])
@pytest.mark.parametrize("size", [0, 1, 512, 1200])
def test_the_records_come_in_order_and_each_is_let_go_when_it_is_given_out(
    make: Callable[[Sequence[Record]], Snapshot], size: int
) -> None:
    made = [traced(number) for number in range(size)]
    traces = [weakref.ref(record) for record in made]
    snapshot = make(made)
    del made
    assert (snapshot.count, snapshot.version, snapshot.rejected) == (size, "9", [])
    for number in range(size):
        assert next(snapshot.records).key.name == str(number)
        assert all(trace() is None for trace in traces[:number])
    assert next(snapshot.records, None) is None
