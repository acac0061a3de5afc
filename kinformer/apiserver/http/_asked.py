"""What a request is asked about, as authorization names it, whether or not it is served (rules H-5, A-5).

As ``apiserver/pkg/endpoints/request.RequestInfoFactory`` does it.
"""

from typing import Final

from kinformer.apiserver.auth import Access, PathAccess, ResourceAccess
from kinformer.apiserver.http._paths import Path, ResourcePath
from kinformer.apiserver.http._query import Query
from kinformer.meta import FieldSelector

__all__ = ["asked"]

_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS: Final = {"get": "list", "delete": "deletecollection"}


def asked(path: Path | None, raw: str, method: str, query: Query) -> Access:
    """What must be allowed for a request to be answered.

    Args:
        path: The path as it was understood.
        raw: The path as it came.
        method: The HTTP method.
        query: Its parameters.
    """
    if not isinstance(path, ResourcePath):
        return PathAccess(method.lower(), raw)
    verb, name, namespace = _VERBS.get(method, ""), path.name, path.namespace
    if not name:
        verb = _COLLECTION_VERBS.get(verb, verb)
        if verb == "list" and method == "GET" and query.flag("watch"):
            verb = "watch"
        if verb in {"list", "watch", "deletecollection"}:
            name = _selected_name(query.text("fieldSelector"))
    if path.plural == "namespaces" and not path.group:
        namespace = path.name  # a Namespace lies in itself
    return ResourceAccess(verb, path.group, path.plural, path.subresource, namespace, name)


def _selected_name(text: str) -> str:
    """The one name that a field selector leaves; ``""`` where it leaves several."""
    try:
        selector = FieldSelector.parse(text)
    except ValueError:
        return ""  # whoever may list hears of it
    return selector.exact("metadata.name") or ""
