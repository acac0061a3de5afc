"""Kubeconfig files: read, merged and checked as ``clientcmd`` does, and written to when a login was refreshed.

Of names that are in several files, and of ``current-context``, the first file's counts. What a file names by a relative
path lies beside it. Errors name the file and the field, and never show a value, nor a line of the file: a password that
YAML trips over is still one.
https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import base64
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kinformer.errors import ConfigError

__all__ = ["Chosen", "Entry", "choose", "keep"]

_ODD_VALUES: Final = (RecursionError, ValueError, LookupError, AttributeError, OverflowError, TypeError)
"""What YAML's reader lets through of what it meets: too deep a nesting, dates and tagged values that are none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping in a kubeconfig.

    Attributes:
        path: The file.
        where: The place in it, such as ``users[me].user``.
        fields: What is there.
    """

    path: Path
    where: str
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def text(self, name: str) -> str:
        """A text; ``""`` where it is absent."""
        return str(self._typed(name, str, "text") or "")

    def flag(self, name: str) -> bool:
        """True or false; the latter where it is absent."""
        return bool(self._typed(name, bool, "true or false"))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self._typed(name, list, "a list") or []
        if not all(isinstance(text, str) for text in found):
            raise self.error(name, "must be a list of texts")
        return tuple(found)

    def mappings(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """A list of mappings."""
        found = self._typed(name, list, "a list") or []
        if not all(isinstance(each, dict) for each in found):
            raise self.error(name, "must be a list of mappings")
        return tuple(found)

    def mapping(self, name: str) -> "Entry | None":
        """A mapping in it."""
        found = self._typed(name, dict, "a mapping")
        return None if found is None else Entry(self.path, f"{self.where}.{name}", found)

    def file(self, name: str) -> str:
        """The path of a file, made absolute; ``""`` where it is absent."""
        named = self.text(name)
        return str(self.path.parent.absolute() / named) if named else ""

    def data(self, name: str) -> str:
        """A text in base64, decoded; ``""`` where it is absent."""
        encoded = "".join(self.text(name).split())
        try:
            return base64.b64decode(encoded, validate=True).decode()
        except ValueError:  # of base64, and of UTF-8
            raise self.error(name, "must be a PEM file in base64, as one line: see 'base64 -w0'") from None

    def error(self, name: str, message: str) -> ConfigError:
        """An error about a field."""
        return ConfigError(f"kubeconfig {self.path}: {self.where}.{name} {message}")

    def _typed(self, name: str, kind: type, word: str) -> Any:
        found = self.fields.get(name)
        if found is not None and not isinstance(found, kind):
            hint = ": put it in quotes" if kind is str and not isinstance(found, list | dict) else ""
            raise self.error(name, f"must be {word}, not {type(found).__name__}{hint}")
        return found


@dataclass(frozen=True, slots=True)
class Chosen:
    """A context, and what it leads to; ``user`` is empty where the context has none."""

    name: str
    context: Entry
    cluster: Entry
    user: Entry


def choose(paths: Sequence[Path], wanted: str) -> Chosen:
    """Read the files and find a context, the current one where ``wanted`` is ``""``.

    Files that do not exist are passed over, as long as there is one that does.

    Raises:
        ConfigError: A file cannot be read, a name leads nowhere, or a field has the wrong type.
    """
    found: dict[str, dict[str, Entry]] = {"contexts": {}, "clusters": {}, "users": {}}
    current, read = "", []
    for path in dict.fromkeys(paths):
        if not _exists(path):
            continue
        file = Entry(path, "", _content(path))
        read.append(path)
        current = current or str(file.fields.get("current-context") or "")
        for section, names in found.items():
            for name, entry in _entries(file, section).items():
                names.setdefault(name, entry)
    if not read:
        named = ", ".join(map(str, paths)) or "of no name"
        raise ConfigError(f"kubeconfig {named} does not exist: correct the path or $KUBECONFIG")
    name = wanted or current
    where = f"kubeconfig {', '.join(map(str, read))}"
    if not name:
        raise ConfigError(f"{where}: current-context is not set: set it, or name a context")
    if name not in found["contexts"]:
        field = "context" if wanted else "current-context"
        raise ConfigError(
            f"{where}: {field} {name!r} is not among the contexts there: {_known(found['contexts'])}"
        )
    context = found["contexts"][name]
    return Chosen(name, context, _named(context, "cluster", found), _named(context, "user", found))


def keep(user: Entry, *, id_token: str, refresh_token: str) -> None:
    """Write new tokens to the ``auth-provider`` of a user, in one step, with the file's mode kept.

    The file is locked as ``clientcmd`` does it, by one with ``.lock`` added to its name.

    Raises:
        ConfigError: The file cannot be written, or is locked; it is as it was.
    """
    path = user.path.resolve()
    lock, draft = path.with_name(f"{path.name}.lock"), path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise ConfigError(f"kubeconfig {path} cannot be locked: {error}") from error
    try:
        content = _content(path)
        for entry in content["users"]:
            if user.where == f"users[{entry['name']}].user":
                entry["user"]["auth-provider"]["config"] |= {
                    "id-token": id_token,
                    "refresh-token": refresh_token,
                }
        _write(draft, content, path.stat().st_mode & 0o777)
        draft.replace(path)
    except (OSError, KeyError, TypeError):
        raise ConfigError(f"kubeconfig {path} cannot be written, or has changed meanwhile") from None
    finally:
        draft.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)


def _write(path: Path, content: object, mode: int) -> None:
    import yaml

    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(content, file, sort_keys=False)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # such as a folder that is not ours to look into
        raise ConfigError(f"kubeconfig {path} cannot be read: {error}") from error


def _content(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {error}") from error
    except (yaml.YAMLError, *_ODD_VALUES) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        hint = "put values that begin with one of *&!%@` or contain ': ' in quotes"
        raise ConfigError(f"kubeconfig {path} is not valid YAML{place}: {hint}") from None
    if content is None:
        return {}  # an empty file, as kubectl accepts it
    if not isinstance(content, dict):
        raise ConfigError(f"kubeconfig {path} must be a mapping with clusters, contexts and users")
    return content


def _entries(file: Entry, section: str) -> dict[str, Entry]:
    """The named entries of a section, each with the mapping under the section's singular."""
    listed = file.fields.get(section) or []
    if not isinstance(listed, list):
        raise ConfigError(f"kubeconfig {file.path}: {section} must be a list")
    found: dict[str, Entry] = {}
    for index, item in enumerate(listed):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise ConfigError(f"kubeconfig {file.path}: {section}[{index}] must be a mapping with a name")
        if name in found:
            raise ConfigError(f"kubeconfig {file.path}: {section} has two entries of the name {name!r}")
        inner = Entry(file.path, f"{section}[{name}]", item).mapping(section[:-1])
        found[name] = inner or Entry(file.path, f"{section}[{name}].{section[:-1]}")
    return found


def _named(context: Entry, field: str, found: Mapping[str, Mapping[str, Entry]]) -> Entry:
    """What the context calls its cluster or user."""
    name, entries = context.text(field), found[f"{field}s"]
    if not name and field == "user":
        return Entry(context.path, "users[].user")
    if name not in entries:
        raise context.error(field, f"{name!r} is not among the {field}s: {_known(entries)}")
    return entries[name]


def _known(entries: Mapping[str, Entry]) -> str:
    return ", ".join(sorted(entries)) or "none"
