"""Discovery: ask a server for all that it serves."""

from typing import TYPE_CHECKING, Final

import anyio

from kinformer.client._calls import Call
from kinformer.client._catalog import Catalog, ServedResource
from kinformer.client._documents import AGGREGATED, Root, read_resources, read_root
from kinformer.errors import NotFoundError, RequestError
from kinformer.tasks import open_task_group

if TYPE_CHECKING:
    from kinformer.client._http import Http

__all__ = ["discover"]

_AT_ONCE: Final = 10
"""Requests for group versions that are under way together."""


async def discover(http: "Http") -> Catalog:
    """Ask for everything: two requests where the server answers aggregated, else one more for each group version.

    A group version that cannot be read, as when the server behind it is down, is in ``failures`` of the result.

    Raises:
        RequestError: The groups themselves cannot be read.
    """
    roots = [await _core(http), read_root(await http.request(_root("/apis")))]
    resources: list[ServedResource] = []
    failures: dict[str, RequestError] = {}
    for root in roots:
        resources += root.resources
        failures |= root.failures
        found = await _read_each(http, root.group_versions)
        for group_version in root.group_versions:
            match found[group_version]:
                case RequestError() as error:
                    failures[group_version] = error
                case served:
                    resources += served
    return Catalog(tuple(resources), failures)


async def _core(http: "Http") -> Root:
    """The core group, which a server that extends another may lack."""
    try:
        return read_root(await http.request(_root("/api")))
    except NotFoundError:
        return Root()


async def _read_each(
    http: "Http", group_versions: tuple[str, ...]
) -> dict[str, tuple[ServedResource, ...] | RequestError]:
    found: dict[str, tuple[ServedResource, ...] | RequestError] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def read(group_version: str) -> None:
        path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        async with limit:
            try:
                found[group_version] = read_resources(await http.request(Call("GET", path)), group_version)
            except NotFoundError:  # withdrawn since the groups were read
                found[group_version] = ()
            except RequestError as error:
                found[group_version] = error

    async with open_task_group() as tasks:
        for group_version in group_versions:
            tasks.start_soon(read, group_version)
    return found


def _root(path: str) -> Call:
    return Call("GET", path, accept=AGGREGATED)
