"""Guarded: hooks whose errors end nothing."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from kinformer.hooks._hooks import Hooks, NoHooks
from kinformer.hooks._records import HookFailed

__all__ = ["guarded", "together"]

logger = logging.getLogger("kinformer.hooks")


def guarded(hooks: Hooks | None) -> Hooks:
    """Give hooks that never raise: those that are given, with what they raise logged and told to ``hook_failed``.

    Each room does this to the hooks that it is given. Hooks that lack a method, since they were written for an earlier
    version, hear nothing of it.

    Args:
        hooks: Anybody's; ``None`` means ``NoHooks``. Guarding twice changes nothing.
    """
    if hooks is None:
        return NoHooks()
    if type(hooks) is NoHooks or isinstance(hooks, _Guarded):
        return hooks
    return cast("Hooks", _Guarded(hooks))  # it makes each method when it is first asked for


def together(*hooks: Hooks | None) -> Hooks:
    """Give hooks that tell all of these, in their order; what one of them raises is lost to that one alone.

    ``Manager(hooks=together(Tracing(), MyHooks()))``

    Args:
        hooks: Each is guarded; ``None`` is nobody.
    """
    heard = [each for each in map(guarded, hooks) if type(each) is not NoHooks]
    if len(heard) < 2:
        return heard[0] if heard else NoHooks()
    return cast("Hooks", _Together(heard))  # as above


class _Guarded:
    """Hooks behind which errors are caught."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks: Final = hooks

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        hook = self._made(name)
        setattr(self, name, hook)
        return hook

    def _made(self, name: str) -> Callable[[Any], None]:
        silent: Callable[[Any], None] = getattr(NoHooks(), name)
        hook: Callable[[Any], None] = getattr(self._hooks, name, silent)
        if getattr(hook, "__func__", None) is getattr(NoHooks, name):
            return silent  # the queue calls three of them for each key

        def tell(event: Any, /) -> None:
            try:
                hook(event)
            except Exception as error:  # noqa: BLE001 -- a hook is the user's
                self._complain(name, error)

        return tell

    def _complain(self, name: str, error: Exception) -> None:
        logger.error("the hook %s failed: %r", name, error, exc_info=error, extra={"hook": name})
        if name != "hook_failed":
            self.hook_failed(HookFailed(name, error))


class _Together(_Guarded):
    """Several guarded hooks."""

    def __init__(self, several: Sequence[Hooks]) -> None:
        self._several: Final = several

    def _made(self, name: str) -> Callable[[Any], None]:
        silent: Callable[[Any], None] = getattr(NoHooks(), name)
        calls = [call for hooks in self._several if (call := getattr(hooks, name)) != silent]
        if len(calls) < 2:
            return calls[0] if calls else silent

        def tell(event: Any, /) -> None:
            for call in calls:
                call(event)

        return tell
