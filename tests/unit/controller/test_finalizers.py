from collections.abc import Callable
from typing import Any, Literal

import jsonpatch
import pytest

from kinformer.controller._finalizers import add_finalizer, remove_finalizer
from kinformer.errors import ConflictError, InvalidError, NotFoundError
from kinformer.meta import Object, ObjectKey, Resource

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
MINE = "example.dev/cleanup"


class OneObject:
    """A server that has one object, or none, and on which somebody else may be quicker than we are."""

    def __init__(self, *finalizers: str, uid: str = "u1", deleting: bool = False) -> None:
        self.content: dict[str, Any] | None = {
            "metadata": {"name": "shop", "namespace": "default", "uid": uid, "resourceVersion": "1"}
        }
        if finalizers:
            self.content["metadata"]["finalizers"] = list(finalizers)
        self.deleting = deleting
        self.before_patch: list[Callable[[], None]] = []
        self.patches = 0
        self.refusal: Exception | None = None

    @property
    def obj(self) -> Object:
        if self.content is None:
            raise NotFoundError(404, "NotFound", "gone")
        return Object.from_mapping(self.content, WEBSITES)

    @property
    def finalizers(self) -> tuple[str, ...]:
        return self.obj.metadata.finalizers

    def set_finalizers(self, *finalizers: str) -> None:
        assert self.content is not None
        self.content["metadata"]["finalizers"] = list(finalizers)
        self.touch()

    def touch(self) -> None:
        assert self.content is not None
        self.content["metadata"]["resourceVersion"] += "1"

    def vanish(self) -> None:
        self.content = None

    async def get(self, key: ObjectKey | str, /) -> Object:
        return self.obj

    async def patch(
        self, key: ObjectKey | str, patch: list[dict[str, Any]], /, *, kind: Literal["json"]
    ) -> Object:
        self.patches += 1
        if self.before_patch:
            self.before_patch.pop(0)()
        if self.refusal is not None:
            raise self.refusal
        try:
            changed = jsonpatch.apply_patch(self.obj.thaw(), patch)
        except jsonpatch.JsonPatchException as error:
            raise InvalidError(422, "Invalid", str(error)) from error
        self.content = changed
        self.touch()
        result = self.obj
        if self.deleting and not result.metadata.finalizers:
            self.vanish()
        return result


async def test_a_first_finalizer_is_added() -> None:
    server = OneObject()
    obj = await add_finalizer(server, server.obj, MINE)
    assert server.finalizers == obj.metadata.finalizers == (MINE,)


async def test_a_finalizer_is_added_behind_those_of_others() -> None:
    server = OneObject("a/b", "c/d")
    await add_finalizer(server, server.obj, MINE)
    assert server.finalizers == ("a/b", "c/d", MINE)


async def test_a_finalizer_that_is_there_needs_no_request() -> None:
    server = OneObject(MINE)
    seen = server.obj
    assert await add_finalizer(server, seen, MINE) is seen
    assert server.patches == 0


@pytest.mark.parametrize("there", [(), ("a/b",)], ids=["none", "one"])
async def test_a_finalizer_that_another_adds_meanwhile_is_kept(there: tuple[str, ...]) -> None:
    server = OneObject(*there)
    server.before_patch = [lambda: server.set_finalizers(*there, "x/y")]
    await add_finalizer(server, server.obj, MINE)
    assert server.finalizers == (*there, "x/y", MINE)


async def test_a_twin_that_adds_the_same_finalizer_meanwhile_is_enough() -> None:
    server = OneObject("a/b")
    server.before_patch = [lambda: server.set_finalizers("a/b", MINE)]
    obj = await add_finalizer(server, server.obj, MINE)
    assert server.finalizers == obj.metadata.finalizers == ("a/b", MINE)
    assert server.patches == 1


async def test_a_finalizer_is_removed_from_between_others() -> None:
    server = OneObject("a/b", MINE, "c/d")
    await remove_finalizer(server, server.obj, MINE)
    assert server.finalizers == ("a/b", "c/d")


async def test_a_finalizer_that_moved_meanwhile_is_found_and_no_other_removed() -> None:
    server = OneObject("a/b", MINE, "c/d")
    server.before_patch = [lambda: server.set_finalizers(MINE, "c/d")]
    await remove_finalizer(server, server.obj, MINE)
    assert server.finalizers == ("c/d",)


async def test_removing_what_is_not_there_needs_no_request() -> None:
    server = OneObject("a/b")
    await remove_finalizer(server, server.obj, MINE)
    assert server.patches == 0


async def test_removing_the_last_finalizer_lets_the_object_go() -> None:
    server = OneObject(MINE, deleting=True)
    await remove_finalizer(server, server.obj, MINE)
    assert server.content is None


async def test_removing_from_a_gone_object_is_done() -> None:
    server = OneObject(MINE)
    seen = server.obj
    server.vanish()
    await remove_finalizer(server, seen, MINE)


async def test_adding_to_a_gone_object_fails() -> None:
    server = OneObject()
    seen = server.obj
    server.vanish()
    with pytest.raises(NotFoundError):
        await add_finalizer(server, seen, MINE)


async def test_another_object_of_the_same_name_is_left_alone() -> None:
    seen = OneObject(MINE, uid="old").obj
    server = OneObject(MINE, uid="new")
    await remove_finalizer(server, seen, MINE)
    assert server.finalizers == (MINE,)
    with pytest.raises(NotFoundError, match="made anew"):
        await add_finalizer(OneObject(uid="new"), OneObject(uid="old").obj, MINE)


async def test_a_refusal_of_an_unchanged_object_goes_to_the_caller() -> None:
    server = OneObject()
    server.refusal = InvalidError(422, "Invalid", "no new finalizers while deleting")
    with pytest.raises(InvalidError, match="while deleting"):
        await add_finalizer(server, server.obj, MINE)
    assert server.patches == 1


async def test_who_is_always_slower_gives_up_with_the_conflict() -> None:
    server = OneObject()
    server.before_patch = [server.touch] * 9
    server.refusal = ConflictError(409, "Conflict", "changed")
    with pytest.raises(ConflictError):
        await add_finalizer(server, server.obj, MINE)
    assert server.patches == 5
