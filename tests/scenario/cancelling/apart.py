"""The points that are not cancelled, each with the reason; checked, so that none stays here that does not belong.

An entry is a point as it is printed, or only its file and function; or how its text begins, in whatever file.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tests.scenario.cancelling.points import Point

__all__ = ["NEVER_WAITS", "SHIELDED", "matching"]

_GROUP = "entering a task group does not wait"
_STACK = "entering an exit stack does nothing"
_OPENS = "transports connect when they are asked something, not when they are entered"
_ITERATORS = "those of httpx have nothing to clean up between two chunks"

NEVER_WAITS: Final[Mapping[str, str]] = {
    "enter async with anyio.create_task_group()": _GROUP,
    "enter async with open_task_group()": _GROUP,
    "await entering.enter_async_context(open_task_group())": _GROUP,
    "await anyio.create_task_group().__aenter__()": _GROUP,
    "enter async with AsyncExitStack()": _STACK,
    "apiserver/rest/_watching.py, Watcher.watch: await stack.enter_async_context(self._objects.cachers.follow(cached))": (
        "what begins a cache does not wait for it"
    ),
    "cli/_embedded.py, embedded: await resources.enter_async_context(server.serve(port=port, tls=tls))": (
        "a server listens at once, and its tasks begin to run when somebody waits"
    ),
    "enter async with Client(server.url)": "a client that is given a URL looks for nothing",
    "cli/_etcd.py, etcd_storage: await resources.enter_async_context(EtcdKV(endpoint, tls=tls, user=user))": _OPENS,
    "cli/_etcd.py, etcd_storage: leave async with AsyncExitStack() as resources": (
        "a channel without calls is closed at once"
    ),
    "client/_client.py, Client.__aenter__: await self._http.open(self._config)": _OPENS,
    "enter async with self._recording()": _GROUP,
    "enter async with self._tenure.held()": _GROUP,
    "client/_http.py, Http.open: await pool.__aenter__()": _OPENS,
    "client/_stream/_transport.py, StreamTransport.__aenter__: await self._others.__aenter__()": _OPENS,
    "enter async with self._http(": _OPENS,
    "client/_http.py, Http._leave: await body.aclose()": _ITERATORS,
    "client/_discovery.py, _read_each.read: leave async with limit": "giving back a place does not wait",
    "controller/_preflight.py, _Look.review: leave async with self._turns": "giving back a place does not wait",
    "controller/_preflight.py, _Look.forecast: leave async with self._turns": "giving back a place does not wait",
    "client/_issued.py, IssuedCredentials.authorization: leave async with self._asking": "releasing a lock does not wait",
    "client/_program.py, run_program: enter async with process": "a process that was started is only handed over",
    "testing/_cluster.py, Cluster.__aenter__: await entering.enter_async_context(self._new_client(token))": (
        "a client that is given a URL and a transport looks for nothing, and entering the transport opens a task group"
    ),
    "testing/_cluster.py, Cluster.account: enter async with self._new_client(answer['status']['token']) as client": (
        "as above"
    ),
    "testing/_source.py, ScriptedSource.watch: await stream.aclose()": (
        "whoever closes the watch is not in the middle of a step, and the script has nothing to clean up"
    ),
}
"""They cannot suspend the task."""

_TOGETHER = "a write and what follows from it are done together, whoever does not want it any more"
_STOPS = "in a task of its own behind a shield, so that a server always comes to its end"

_RENEWED = (
    "there is litter only a while after it has joined, and from then on its Lease is renewed behind a shield"
)

SHIELDED: Final[Mapping[str, str]] = {
    "apiserver/rest/_definitions.py, Definitions._finish": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions._withdraw": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions.sweep": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions.remove: await self._delete(value) (2)": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions.remove: await self._finish(served)": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions.remove: await self._withdraw(value.key.removeprefix(served.prefix()), revision)": _TOGETHER,
    "apiserver/rest/_definitions.py, Definitions.store: await self._objects.kv.put(key, encoded, expected=expected) (2)": _TOGETHER,
    "await self._definitions.sweep(new, self.delete)": _TOGETHER,
    "apiserver/rest/_deleting.py, Deleter._remove: await self._definitions.store(served, value.key, new, expected=value.mod_revision)": _TOGETHER,
    "apiserver/http/_serving.py, _Serving.run": _STOPS,
    "apiserver/http/_serving.py, _Serving.stop: await checkpoint()": _STOPS,
    "apiserver/http/_serving.py, _Serving.stop: await self._finished.wait() (2)": _STOPS,
    "controller/_shard.py, Enrolment._step: await self._tidy()": _RENEWED,
    "controller/_shard.py, Enrolment._tidy": _RENEWED,
    "controller/_tenure.py, Tenure._keep: await self.attempt()": (
        "a lease is renewed behind a shield while the work under it ends; the steps of a try are cancelled before it is won"
    ),
    "testing/_running.py, _see_out": "in a task of its own behind a shield: only it can move the time",
}
"""They wait, where no cancellation can reach them."""


def matching(entries: Mapping[str, str], points: Iterable[Point]) -> dict[str, set[Point]]:
    """For each entry the points that it is about."""
    return {
        entry: {
            point
            for point in points
            if entry in {str(point), f"{point.file}, {point.function}"} or point.text.startswith(entry)
        }
        for entry in entries
    }
