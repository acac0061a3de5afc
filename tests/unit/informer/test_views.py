"""What is given for a record."""

import msgspec
import pytest

from kinformer.errors import DecodeError
from kinformer.informer import Added, Deleted, Updated
from kinformer.informer._views import Views
from kinformer.meta import Object, Record, Resource

PODS = Resource.builtin("Pod")


class Spec(msgspec.Struct):
    replicas: int


class Model(msgspec.Struct):
    spec: Spec


def record(replicas: object, *, name: str = "a") -> Record:
    content = {"metadata": {"name": name, "namespace": "default"}, "spec": {"replicas": replicas}}
    return Record.decode(msgspec.json.encode(content), PODS)


def test_handlers_share_the_handle_of_a_record() -> None:
    views = Views(Object)
    kept = record(1)
    first, second = views.notification(Added(kept)), views.notification(Deleted(kept, is_tombstone=True))
    assert isinstance(first, Added)
    assert isinstance(second, Deleted)
    assert first.obj is second.obj
    assert second.is_tombstone


def test_a_lister_gets_a_handle_of_its_own() -> None:
    views = Views(Object)
    kept = record(1)
    assert views.of(kept) is not views.of(kept)


def test_only_the_last_handles_are_kept() -> None:
    views = Views(Object)
    first = record(1)
    before = views.notification(Added(first))
    for number in range(200):
        views.notification(Added(record(number, name=f"b{number}")))
    after = views.notification(Added(first))
    assert isinstance(before, Added)
    assert isinstance(after, Added)
    assert before.obj is not after.obj


def test_a_resync_shows_one_object_twice() -> None:
    kept = record(1)
    told = Views(Object).notification(Updated(kept, kept))
    assert isinstance(told, Updated)
    assert told.old is told.new


def test_a_model_is_decoded() -> None:
    told = Views(Model).notification(Updated(record(1), record(2)))
    assert told == Updated(Model(Spec(1)), Model(Spec(2)))


def test_what_does_not_fit_the_model_is_an_error_with_its_key() -> None:
    with pytest.raises(DecodeError) as caught:
        Views(Model).notification(Added(record("many")))
    assert caught.value.key == "default/a"


def test_an_update_from_a_state_that_did_not_fit_is_an_add() -> None:
    assert Views(Model).notification(Updated(record("many"), record(2))) == Added(Model(Spec(2)))
