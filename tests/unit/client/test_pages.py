import msgspec
import pytest

from kinformer.client._pages import join, modelled, paginate
from kinformer.errors import DecodeError, ExpiredError, ForbiddenError
from kinformer.meta import Object, ObjectList, Resource

PODS = Resource.builtin("Pod")


class Server:
    """Pages of numbers, as client-go's test pager has them."""

    def __init__(self, count: int, *, expires_at: int = 0) -> None:
        self.count = count
        self.expires_at = expires_at
        self.asked: list[tuple[str, str, int, str]] = []

    async def read(self, version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        self.asked.append((version, version_match, limit, token))
        if self.expires_at and len(self.asked) == self.expires_at:
            raise ExpiredError(410)
        start = int(token or 0)
        end = min(start + limit, self.count) if limit else self.count
        moment = "2" if self.expires_at and len(self.asked) > self.expires_at else "1"
        return ObjectList(tuple(range(start, end)), moment, str(end) if end < self.count else "")

    async def pages(
        self, limit: int = 10, version: str = "", version_match: str = ""
    ) -> list[ObjectList[int]]:
        found = paginate(self.read, version=version, version_match=version_match, limit=limit)
        return [page async for page in found]


@pytest.mark.parametrize(
    ("count", "sizes"), [(0, [0]), (9, [9]), (10, [10]), (11, [10, 1]), (21, [10, 10, 1])]
)
async def test_every_object_is_on_one_page(count: int, sizes: list[int]) -> None:
    pages = await Server(count).pages()
    assert [len(page.items) for page in pages] == sizes
    assert join(pages) == ObjectList(tuple(range(count)), "1")


async def test_only_the_first_request_has_a_version() -> None:
    server = Server(25)
    await server.pages(version="7", version_match="Exact")
    assert server.asked == [("7", "Exact", 10, ""), ("", "", 10, "10"), ("", "", 10, "20")]


@pytest.mark.parametrize("page", [2, 3])
async def test_a_forgotten_moment_gives_the_whole_list_anew(page: int) -> None:
    server = Server(25, expires_at=page)
    pages = await server.pages(version="0")
    assert server.asked[-1] == ("0", "", 0, "")
    assert pages[-1] == ObjectList(tuple(range(25)), "2")
    assert join(pages) == ObjectList(tuple(range(25)), "2")


async def test_a_first_page_that_is_forgotten_is_an_error() -> None:
    with pytest.raises(ExpiredError):
        await Server(25, expires_at=1).pages(version="1")


async def test_another_failure_on_the_way_is_an_error() -> None:
    server = Server(25)

    async def read(version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        if token:
            raise ForbiddenError(403)
        return await server.read(version, version_match, limit, token)

    pages = paginate(read, version="", version_match="", limit=10)
    assert len((await anext(pages)).items) == 10
    with pytest.raises(ForbiddenError):
        await anext(pages)


async def test_a_server_that_pages_unasked_and_forgets_each_time_is_given_up() -> None:
    asked: list[tuple[int, str]] = []

    async def read(version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        asked.append((limit, token))
        if token:
            raise ExpiredError(410)
        return ObjectList((1,), "1", "next")

    with pytest.raises(ExpiredError):
        _ = [page async for page in paginate(read, version="", version_match="", limit=10)]
    assert asked == [(10, ""), (10, "next"), (0, ""), (0, "next")]


async def test_a_page_that_leads_to_itself_is_an_error() -> None:
    async def read(version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        return ObjectList((1,), "1", "same")

    with pytest.raises(DecodeError, match="never end"):
        _ = [page async for page in paginate(read, version="", version_match="", limit=10)]


async def test_pages_that_lead_back_to_one_before_are_an_error() -> None:
    async def read(version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        return ObjectList((1,), "1", "a" if token == "b" else "b")

    with pytest.raises(DecodeError, match="never end"):
        _ = [page async for page in paginate(read, version="", version_match="", limit=10)]


async def test_tokens_may_be_the_same_again_after_a_new_beginning() -> None:
    asked: list[str] = []

    async def read(version: str, version_match: str, limit: int, token: str) -> ObjectList[int]:
        asked.append(token)
        if len(asked) == 2:
            raise ExpiredError(410)
        return ObjectList((1,), "1", "" if token else "a")

    assert len([page async for page in paginate(read, version="", version_match="", limit=10)]) == 3
    assert asked == ["", "a", "", "a"]


def test_nothing_joins_to_nothing() -> None:
    assert join([]) == ObjectList((), "")


def test_objects_that_do_not_fit_the_model_are_rejected() -> None:
    class Meta(msgspec.Struct):
        generation: int

    class Pod(msgspec.Struct):
        metadata: Meta
        spec: dict[str, str]

    good = Object.from_mapping({"metadata": {"name": "a", "generation": 1}, "spec": {}}, PODS)
    bad = Object.from_mapping({"metadata": {"name": "b", "generation": 1}, "spec": 7}, PODS)
    page = modelled(ObjectList((good, bad), "7", "t", 3), Pod)
    assert page.items == (Pod(Meta(1), {}),)
    assert [error.key for error in page.rejected] == ["b"]
    assert (page.version, page.continue_token, page.remaining) == ("7", "t", 3)
