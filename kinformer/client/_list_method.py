"""List methods: what a ``list_*`` method of kubernetes-asyncio lists, and what is said to it. Pure.

Nothing is imported from there: a method is asked by having it call a stand-in for its ``ApiClient``.
"""

import copy
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from kinformer.meta import Resource

__all__ = ["ListMethod", "list_keywords", "list_method", "list_of_any", "watch_keywords"]

ListMethod = Callable[..., Awaitable[Any]]
"""Takes the keywords of the generated methods, and gives the answer unread if told ``_preload_content=False``."""

_OURS: Final = frozenset(
    {
        "_continue",
        "_preload_content",
        "_request_timeout",
        "allow_watch_bookmarks",
        "async_req",
        "limit",
        "resource_version",
        "resource_version_match",
        "send_initial_events",
        "timeout_seconds",
        "watch",
    }
)
"""The keywords that a reflector decides about."""

_QUERY: Final[Mapping[str, str]] = {
    "_continue": "continue",
    "allow_watch_bookmarks": "allowWatchBookmarks",
    "limit": "limit",
    "resource_version": "resourceVersion",
    "resource_version_match": "resourceVersionMatch",
    "send_initial_events": "sendInitialEvents",
    "timeout_seconds": "timeoutSeconds",
    "watch": "watch",
}

_KIND: Final = re.compile(r"(?:[A-Z][a-z]+)?V\d+(?:(?:alpha|beta)\d+)?(\w+)List")
"""The kind in the name of a list's model: ``V1PodList``, ``CoreV1EventList``, ``V1beta1DeviceClassList``."""


def list_keywords(version: str, version_match: str, limit: int, continue_token: str) -> dict[str, Any]:
    """What a method is told for one page of a LIST."""
    return _said(
        resource_version=version, resource_version_match=version_match, limit=limit, _continue=continue_token
    )


def watch_keywords(version: str, timeout: int, *, bookmarks: bool, initial_events: bool) -> dict[str, Any]:
    """What a method is told for a WATCH."""
    return _said(
        watch=True,
        resource_version=version,
        timeout_seconds=timeout,
        allow_watch_bookmarks=bookmarks,
        send_initial_events=initial_events,
        resource_version_match="NotOlderThan" if initial_events else "",
    )


def list_method(
    method: ListMethod, args: tuple[Any, ...], keywords: Mapping[str, Any], resource: Resource | None
) -> tuple[ListMethod, Resource]:
    """Bind a method to its arguments, and find out what it lists.

    Raises:
        TypeError: It is no method, or does not take these arguments.
        ValueError: A keyword is among those that are not the caller's to decide; or nothing says what is listed; or it
            is not what the caller says.
    """
    bound: Any = method
    if not callable(method):
        raise TypeError(f"{method!r} is no list_* method; for an ApiClient write over(api_client, resource)")
    while isinstance(bound, partial):
        bound, args, keywords = bound.func, (*bound.args, *args), {**bound.keywords, **keywords}
    if taken := sorted(_OURS & set(keywords)):
        raise ValueError(f"{', '.join(taken)} cannot be given: a reflector decides about that")
    found = _listed_by(bound, args, keywords)
    if resource is None:
        if not isinstance(found, Resource):
            raise ValueError(f"{_name_of(bound)} does not say what it lists: give resource=")
        resource = found
    elif found is not None and _path_of(found) != _path_of(resource):
        raise ValueError(f"{_name_of(bound)} lists {'/'.join(filter(None, _path_of(found)))}, not {resource}")
    return partial(bound, *args, **keywords), resource


def list_of_any(api_client: Any, path: str, params: Mapping[str, str]) -> ListMethod:
    """A method for any path, which takes the same keywords.

    Args:
        api_client: An ``ApiClient``.
        path: That of a collection.
        params: Query parameters of every request.

    Raises:
        TypeError: It is something else, such as a ``CoreV1Api``.
    """
    if not callable(getattr(api_client, "call_api", None)):
        raise TypeError(f"{api_client!r} is no ApiClient: give that from which the API classes are made")

    def method(*, _preload_content: bool, **said: Any) -> Awaitable[Any]:
        values = {
            _QUERY[name]: str(value).lower() if value is True else str(value) for name, value in said.items()
        }
        answer: Awaitable[Any] = api_client.call_api(
            path,
            "GET",
            query_params=[*params.items(), *values.items()],
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
            _preload_content=_preload_content,
        )
        return answer

    return method


def _said(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value} | {"_preload_content": False}


class _StandIn:
    """Takes the place of an ``ApiClient``, and notes what it is asked to call."""

    client_side_validation = True

    def __init__(self) -> None:
        self.path = ""
        self.model = ""

    def select_header_accept(self, accepts: list[str]) -> str:
        return accepts[0]

    def call_api(self, path: str, _method: str, path_params: Any = None, *_: Any, **options: Any) -> None:
        self.path = path.format(**dict(path_params or {}))
        models = options.get("response_types_map") or {200: options.get("response_type")}
        self.model = str(models.get(200))


def _listed_by(
    method: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Resource | tuple[str, str, str] | None:
    """The resource, or only group, version and plural where no kind is told, or nothing of a function of another kind."""
    api: Any = getattr(method, "__self__", None)
    if not hasattr(api, "api_client"):
        return None
    asked, stand_in = copy.copy(api), _StandIn()
    asked.api_client = stand_in
    getattr(asked, method.__name__)(*args, **keywords)
    _, root, *parts = stand_in.path.split("/")
    group, version, *rest = parts if root == "apis" else ("", *parts)
    in_one = len(rest) == 3 and rest[0] == "namespaces"
    plural = rest[-1]
    kind = _KIND.fullmatch(stand_in.model)
    if kind is None:
        return group, version, plural
    namespaced = in_one or method.__name__.partition("_with_http")[0].endswith("_for_all_namespaces")
    return Resource(group, version, plural, kind.group(1), namespaced)


def _path_of(resource: Resource | tuple[str, str, str]) -> tuple[str, str, str]:
    return resource if isinstance(resource, tuple) else (resource.group, resource.version, resource.plural)


def _name_of(method: ListMethod) -> str:
    return getattr(method, "__name__", repr(method))
