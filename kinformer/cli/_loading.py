"""From FILE[:NAME] to what is to be run."""

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TypeAlias, TypeVar

from kinformer.cli._complaint import Complaint
from kinformer.controller import Controller, Manager

__all__ = ["Runnable", "load", "managed", "select"]

Runnable: TypeAlias = Controller | Manager

T = TypeVar("T")


def load(file: Path) -> ModuleType:
    """Import a Python file as a module, so that its ``__main__`` part does not run.

    Its directory comes first on the path, as with ``python FILE``, so that it may import its neighbours.

    Raises:
        Complaint: There is no such file, or it fails to import; then the details are the traceback of the file.
    """
    if not file.is_file():
        what = "is a directory" if file.is_dir() else "does not exist"
        raise Complaint(f"{file} {what}: give a Python file, as in 'kinformer run website.py'")
    path = file.resolve()
    name = (
        f"kinformer_file_{path.stem}"  # a name of its own: the file may be called like a module, json.py say
    )
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Complaint(f"{file} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and msgspec look their annotations up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's: whatever it raises is to be shown
        raise Complaint(
            f"{file} failed to import: {_sentence(error)}", details=_traceback(error, path)
        ) from error
    return module


def select(module: ModuleType, name: str, file: Path) -> tuple[Runnable, ...]:
    """What of the module is to be run: ``name``, else its one Manager, else all its Controllers.

    Raises:
        Complaint: There is no such name, it is something else, or the file leaves nothing or too much to choose.
    """
    if name:
        return (_named(module, name, file),)
    managers = _found(module, Manager)
    if len(managers) > 1:
        names = ", ".join(managers)
        raise Complaint(
            f"{file} has several Managers ({names}): choose one, as in {file}:{next(iter(managers))}"
        )
    if managers:
        return tuple(managers.values())
    controllers = _found(module, Controller)
    if not controllers:
        raise Complaint(f"{file} has neither a Controller nor a Manager at its top level: nothing to run")
    return tuple(controllers.values())


def managed(what: Sequence[Runnable], file: Path, *, address: str = "") -> Manager:
    """The manager of what ``select`` gave: the file's own, or one for its controllers, with this address.

    Raises:
        Complaint: They cannot be run together, or the file's own manager would need the address itself.
    """
    managers = [part for part in what if isinstance(part, Manager)]
    if managers and address:
        raise Complaint(
            f"{file} has a Manager of its own: give it address={address!r}, and leave out --address"
        )
    try:
        controllers = [part for part in what if isinstance(part, Controller)]
        return managers[0] if managers else Manager(*controllers, address=address or None)
    except ValueError as error:  # two of one name, or one that is not complete
        raise Complaint(f"{file}: {error}") from error


def _named(module: ModuleType, name: str, file: Path) -> Runnable:
    if not hasattr(module, name):
        known = (
            ", ".join([*_found(module, Manager), *_found(module, Controller)]) or "nothing that could be run"
        )
        raise Complaint(f"{file} has no {name!r}; it has {known}")
    value = getattr(module, name)
    if not isinstance(value, Controller | Manager):
        raise Complaint(
            f"{name!r} in {file} is of type {type(value).__name__}, neither a Controller nor a Manager"
        )
    return value


def _found(module: ModuleType, kind: type[T]) -> dict[str, T]:
    """The module's values of this kind in the order of their names' appearance, each once."""
    found: dict[str, T] = {}
    for name, value in vars(module).items():
        if isinstance(value, kind) and not any(value is other for other in found.values()):
            found[name] = value
    return found


def _sentence(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]


def _traceback(error: BaseException, path: Path) -> str:
    """The traceback from the user's file on; the steps of ours and of the import system help nobody."""
    start: TracebackType | None = error.__traceback__
    while start is not None and start.tb_frame.f_code.co_filename != str(path):
        start = start.tb_next
    return "".join(traceback.format_exception(type(error), error, start))
