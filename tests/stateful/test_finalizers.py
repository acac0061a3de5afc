"""Several controllers add and remove their finalizers at once, in any interleaving of their requests."""

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Literal

import jsonpatch
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.controller import add_finalizer, remove_finalizer
from kinformer.errors import ApiError, InvalidError
from kinformer.meta import Object, ObjectKey, Resource

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
NAMES = ("a/one", "b/two", "c/three")

some = st.lists(st.sampled_from(NAMES), unique=True)


@coroutine
def others_first() -> Generator[None, None, None]:
    """Let the machine decide who sends its request next."""
    yield


class Server:
    """One object, changed by whole requests."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {"metadata": {"name": "shop", "namespace": "default"}}
        self.uid = self.version = 0

    def appear(self, *finalizers: str) -> None:
        self.uid += 1
        self.content["metadata"]["uid"] = f"u{self.uid}"
        self.content["metadata"].pop("finalizers", None)
        if finalizers:
            self.content["metadata"]["finalizers"] = list(finalizers)
        self.touch()

    def touch(self) -> None:
        self.version += 1
        self.content["metadata"]["resourceVersion"] = str(self.version)

    @property
    def finalizers(self) -> list[str]:
        return list(self.content["metadata"].get("finalizers", ()))

    def now(self) -> Object:
        return Object.from_mapping(self.content, WEBSITES)

    async def get(self, key: ObjectKey | str, /) -> Object:
        await others_first()
        return self.now()

    async def patch(
        self, key: ObjectKey | str, patch: list[dict[str, Any]], /, *, kind: Literal["json"]
    ) -> Object:
        await others_first()
        before = self.now().thaw()
        try:
            self.content = jsonpatch.apply_patch(before, patch)
        except jsonpatch.JsonPatchException as error:
            raise InvalidError(422, "Invalid", str(error)) from error
        self.touch()
        return self.now()


class FinalizersMachine(RuleBasedStateMachine):
    """Whoever has been told that it is done finds its finalizer as it wants it, and nobody else's is ever touched."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.calls: list[tuple[str, bool, Object, Coroutine[Any, Any, object]]] = []

    @initialize(there=some)
    def the_object_is_there(self, there: list[str]) -> None:
        self.server.appear(*there)
        self.seen = self.server.now()

    @precondition(lambda self: len(self.calls) == 1)
    @rule(there=some)
    def the_object_is_made_anew(self, there: list[str]) -> None:
        self.server.appear(*there)

    @rule()
    def somebody_writes_the_status(self) -> None:
        self.server.touch()

    @precondition(lambda self: len(self.calls) < 4)
    @rule(name=st.sampled_from(NAMES), looks=st.booleans())
    def begin(self, name: str, looks: bool) -> None:
        if looks:
            self.seen = self.server.now()
        adds = name not in self.seen.metadata.finalizers  # the other way it would be done without a request
        change = add_finalizer if adds else remove_finalizer
        self.calls.append((name, adds, self.seen, change(self.server, self.seen, name)))
        self.go_on(len(self.calls) - 1)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def send_a_request(self, data: st.DataObject) -> None:
        self.go_on(data.draw(st.integers(0, len(self.calls) - 1)))

    def go_on(self, number: int) -> None:
        name, adds, seen, call = self.calls[number]
        before, uid = self.server.finalizers, self.server.now().metadata.uid
        try:
            call.send(None)
        except StopIteration:
            del self.calls[number]
            is_same = seen.metadata.uid == uid
            assert not is_same or (name in self.server.finalizers) is adds, "it was told that it is done"
        except ApiError:
            del self.calls[number]  # its object is another one, or the others were quicker every time
        after = self.server.finalizers
        if seen.metadata.uid != uid:
            assert after == before, "an object that it never saw is touched"
        else:
            assert [each for each in after if each != name] == [each for each in before if each != name]

    @invariant()
    def nothing_is_there_twice(self) -> None:
        assert len(set(self.server.finalizers)) == len(self.server.finalizers)

    def teardown(self) -> None:
        for *_, call in self.calls:
            call.close()


TestFinalizers = FinalizersMachine.TestCase
