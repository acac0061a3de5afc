"""What a command needs beyond the core of kinformer."""

from importlib.util import find_spec

from kinformer.cli._complaint import Complaint

__all__ = ["require"]


def require(extra: str, *modules: str) -> None:
    """See that these modules can be imported, without importing them.

    Raises:
        Complaint: One is missing; it says which extra to install.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        what = ", ".join(missing)
        verb = "is" if len(missing) == 1 else "are"
        raise Complaint(f"this needs {what}, which {verb} not installed: pip install 'kinformer[{extra}]'")
