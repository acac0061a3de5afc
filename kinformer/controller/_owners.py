"""Owner references: say whose an object is, so that it is deleted with its owner and ``owns`` finds the way back."""

from typing import Any

from kinformer.meta import Object

__all__ = ["owner_reference", "set_owner"]


def owner_reference(owner: Object, *, controller: bool = True, block_deletion: bool = True) -> dict[str, Any]:
    """One entry for ``metadata.ownerReferences`` that names ``owner``.

    Args:
        owner: The object as the server has it.
        controller: Mark the owner as the one that manages the object; ``owns`` goes by that mark.
        block_deletion: A foreground deletion of the owner waits for the object.

    Raises:
        ValueError: The owner has no uid: it does not come from a server.
    """
    if not owner.metadata.uid:
        raise ValueError(
            f"{owner.kind} {owner.key} has no uid: an owner must be an object that the server has"
        )
    reference: dict[str, Any] = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
    }
    if controller:
        reference["controller"] = True
    if block_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def set_owner(
    content: dict[str, Any], owner: Object, *, controller: bool = True, block_deletion: bool = True
) -> None:
    """Make ``owner`` an owner of the object with this content, in place.

    An earlier reference to it is replaced where it stands, so that setting it again changes nothing, however many
    owners there are. The rules are controllerutil's ``SetControllerReference`` and ``SetOwnerReference``.

    Args:
        content: The object as a dict, for example of ``obj.thaw()``.
        owner: The object as the server has it.
        controller: See ``owner_reference``.
        block_deletion: See ``owner_reference``.

    Raises:
        ValueError: Another owner is the controller already, the owner lives in another namespace, or it has no uid.
    """
    reference = owner_reference(owner, controller=controller, block_deletion=block_deletion)
    metadata = content.setdefault("metadata", {})
    name = f"{content.get('kind', 'object')} {metadata.get('name', '')}".rstrip()
    namespace = metadata.get("namespace")
    if namespace and owner.metadata.namespace not in {"", namespace}:
        raise ValueError(
            f"{name} in namespace {namespace!r} cannot be owned by {owner.kind} {owner.key}: "
            "an owner is in the same namespace, or cluster-scoped"
        )
    entries = metadata.get("ownerReferences") or ()
    others = [entry for entry in entries if entry.get("uid") != reference["uid"]]
    place = next(
        (at for at, entry in enumerate(entries) if entry.get("uid") == reference["uid"]), len(others)
    )
    rival = next((entry for entry in others if entry.get("controller")), None)
    if controller and rival is not None:
        raise ValueError(
            f"{name} is controlled by {rival.get('kind')} {rival.get('name')} already: "
            "an object has one controller; use controller=False to be one more owner"
        )
    metadata["ownerReferences"] = [*others[:place], reference, *others[place:]]
