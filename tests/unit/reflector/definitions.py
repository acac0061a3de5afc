"""CustomResourceDefinitions of Websites, as a reflector that waits for them sees them."""

from typing import Any

from kinformer.meta import Object, Resource

DEFINITIONS = Resource.builtin("CustomResourceDefinition")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


def definition(
    *,
    name: str = "websites.example.dev",
    versions: dict[str, bool] | None = None,
    established: str = "True",
    uid: str = "u1",
    generation: int = 1,
    **parts: Any,
) -> Object:
    """A definition as far as anybody looks at it, with parts replaced."""
    content: dict[str, Any] = {
        "metadata": {"name": name, "uid": uid, "generation": generation, "resourceVersion": "7"},
        "spec": {
            "versions": [
                {"name": version, "served": served, "storage": True}
                for version, served in (versions or {"v1": True}).items()
            ]
        },
        "status": {
            "conditions": [
                {"type": "NamesAccepted", "status": "True"},
                {"type": "Established", "status": established, "reason": "InitialNamesAccepted"},
            ]
        },
    }
    return Object.from_mapping(content | parts, DEFINITIONS)
