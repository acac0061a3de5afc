"""Custom resources on their way in and out, by the schema of the version that is asked for."""

from collections.abc import Callable
from typing import Any

from kinformer.apiserver.registry._errors import FieldProblem
from kinformer.apiserver.registry._schema import validate
from kinformer.apiserver.registry._served import Served
from kinformer.apiserver.registry._shaping import apply_defaults, drop_nulls, prune

__all__ = ["check_custom", "shape_custom", "show"]


def show(served: Served, content: dict[str, Any]) -> dict[str, Any]:
    """A stored object in the version of ``served``: nothing but ``apiVersion`` is converted (rule C-6)."""
    content["apiVersion"] = served.api_version
    shape_custom(served, content)
    return content


def shape_custom(served: Served, content: dict[str, Any]) -> list[str]:
    """Prune, drop nulls and fill in defaults, in place; gives the paths of the fields that were dropped."""
    if served.schema is None:
        return []
    dropped = prune(content, served.schema)
    drop_nulls(content, served.schema)
    apply_defaults(content, served.schema)
    return dropped


def check_custom(
    served: Served, content: dict[str, Any], counts: Callable[[str], bool] = bool
) -> list[FieldProblem]:
    """What the schema has against an object.

    Args:
        served: The version that the object is written in.
        content: The object, shaped.
        counts: Which of the top-level fields to judge: a write of the status judges only that.
    """
    if served.schema is None:
        return []
    judged = {key: value for key, value in content.items() if key not in {"apiVersion", "kind", "metadata"}}
    problems = validate(judged, _without_metadata(served.schema))
    return [problem for problem in problems if counts(problem.field.partition(".")[0].partition("[")[0])]


def _without_metadata(schema: Any) -> dict[str, Any]:
    """The schema of the rest: what it says of kind, apiVersion and metadata is judged elsewhere."""
    own = {"apiVersion", "kind", "metadata"}
    required = [key for key in schema.get("required") or () if key not in own]
    properties = {key: child for key, child in (schema.get("properties") or {}).items() if key not in own}
    return {**schema, "required": required, "properties": properties}
