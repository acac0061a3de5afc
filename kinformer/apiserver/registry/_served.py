"""Served: one resource in one version, and everything that the verbs must know of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.apiserver.registry._shapes import FREE, Shape
from kinformer.meta import Resource

__all__ = ["ALL_VERBS", "PrinterColumn", "ScalePaths", "Served", "Traits"]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One entry of ``additionalPrinterColumns``; ``json_path`` starts with a dot."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the scale subresource of a kind finds its numbers; dotted paths that start with a dot."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Traits:
    """In what a kind differs from the others; the defaults are those of most built-in kinds.

    Attributes:
        generation: Whether objects have a ``metadata.generation`` that counts changes of what is not status.
        unconditional_update: Whether a PUT may leave out the resource version.
        create_on_update: Whether a PUT of a missing name creates it.
        returns_deleted: Whether a DELETE answers with the object instead of a Status.
        orphans_by_default: Whether dependents survive when a DELETE does not say.
        keeps_status_on_create: Whether the status of a new object is taken as sent.
        name_rule: Which names objects may have: ``subdomain``, ``label``, ``service`` or ``path``.
        fields: The field selectors besides name and namespace; ``None`` allows none and says so differently.
        immutable: Dotted paths that an update may not change.
    """

    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    orphans_by_default: bool = False
    keeps_status_on_create: bool = False
    name_rule: str = "subdomain"
    fields: tuple[str, ...] | None = None
    immutable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Served:
    """One served resource: what discovery shows and what the verbs obey. Equal when nothing differs, and hashable.

    Attributes:
        subresources: Their names, such as ``("status", "scale")``; each is served with get, patch and update, except
            ``finalize``, which has update only, and ``token``, which has create only.
        printer_columns: Of a custom resource, those that its definition declares.
        schema: Of a custom resource, its ``openAPIV3Schema``; ``None`` for built-in kinds.
        scale: Where ``scale`` finds its numbers, ``None`` where the kind does not scale.
        storage_version: The version that objects are stored in; one of the group.
        deprecation: The warning that requests of this version get; ``""`` for none.
        is_terminating: Whether the definition is being deleted, so that nothing new may be created.
        shape: How its parts merge.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    printer_columns: tuple[PrinterColumn, ...] = ()
    is_custom: bool = False
    schema: Mapping[str, Any] | None = None
    scale: ScalePaths | None = None
    storage_version: str = ""
    deprecation: str = ""
    is_terminating: bool = False
    traits: Traits = field(default_factory=Traits)
    shape: Shape = field(default=FREE, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, default in (
            ("singular", self.kind.lower()),
            ("list_kind", f"{self.kind}List"),
            ("storage_version", self.version),
        ):
            if not getattr(self, name):
                object.__setattr__(self, name, default)

    def __hash__(self) -> int:
        return hash((self.group, self.version, self.plural))  # a schema has no hash

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``plural.group``, or ``plural`` in the core group: the name in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        """Whether the status is written through a subresource of its own."""
        return "status" in self.subresources

    @property
    def resource(self) -> Resource:
        """The same, in the words of clients."""
        return Resource(self.group, self.version, self.plural, self.kind, self.namespaced)

    def prefix(self, namespace: str = "") -> str:
        """Where the storage keeps the objects: of one namespace, or all. All versions share a place."""
        place = f"/registry/{self.group or 'core'}/{self.plural}/"
        return f"{place}{namespace}/" if namespace else place

    def key(self, namespace: str, name: str) -> str:
        """Where the storage keeps one object; the namespace of a cluster-scoped kind is ``""``."""
        return f"{self.prefix(namespace)}{name}"
