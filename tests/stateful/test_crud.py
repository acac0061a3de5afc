"""Custom resources over HTTP against the plainest model: versions, generation, status, finalizers, deletion."""

import asyncio
import json
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.apiserver.auth import Guard
from kinformer.apiserver.http import Application
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Verbs
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"spec": FREE, "status": FREE}}
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
KIND = {"apiVersion": "example.com/v1", "kind": "Widget"}

names = st.sampled_from(["a", "a", "a", "b"])
numbers = st.integers(0, 2)
labels = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]))
finalizers = st.sampled_from([["e.io/f"], ["e.io/f", "e.io/g"], [], []])


@dataclass
class Widget:
    """What the model knows of one object."""

    version: str = ""
    uid: str = ""
    generation: int = 1
    spec: int = 0
    status: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    finalizers: list[str] = field(default_factory=list)
    is_deleting: bool = False


class CrudModel(RuleBasedStateMachine):
    """One client writes in every way; after each write the answer and a list must be what the model says, and each get in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.model: dict[str, Widget] = {}
        self.newest = 0
        registry, clock = Registry(), FakeClock()
        self.verbs = Verbs(MemoryKV(), registry, clock=clock, random=Random(1))
        guard = Guard(MemoryKV(), clock=clock)
        self.app = Application(self.verbs, registry, guard, clock=clock, random=Random(2))

    @initialize()
    def begin(self) -> None:
        self.loop.run_until_complete(self.verbs.bootstrap())
        self.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD, code=201)

    def teardown(self) -> None:
        for name, known in self.model.items():
            assert seen(self.request("GET", f"{WIDGETS}/{name}", code=200)) == known
        self.loop.close()

    def request(
        self, method: str, path: str, body: Any = None, *, code: int, kind: str = "application/json"
    ) -> dict[str, Any]:
        status, answer = self.loop.run_until_complete(self.ask(method, path, body, kind))
        assert status == code, answer
        return answer

    async def ask(self, method: str, path: str, body: Any, kind: str) -> tuple[int, dict[str, Any]]:
        """Speak ASGI; a client in between costs more than the answer."""
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            content = b"" if body is None else json.dumps(body).encode()
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "server": ("x", 80),
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"x"), (b"content-type", kind.encode()), (b"accept", b"application/json")],
        }
        await self.app(scope, receive, send)
        return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))

    def written(self, name: str, answer: dict[str, Any], *, changed: bool) -> None:
        """Compare an answer with the model, which has been brought up to date but for the version."""
        known, version = self.model[name], answer["metadata"]["resourceVersion"]
        assert (version != known.version) is changed
        if changed:
            assert int(version) > self.newest
            self.newest = int(version)
        known.version, known.uid = version, known.uid or answer["metadata"]["uid"]
        assert seen(answer) == known

    def finish(self, name: str) -> bool:
        """Whether a deletion has nothing more to wait for; then the object is gone."""
        if not (self.model[name].is_deleting and not self.model[name].finalizers):
            return False
        del self.model[name]
        return True

    @rule(name=names, spec=numbers, labels=labels, finalizers=finalizers)
    def create(self, name: str, spec: int, labels: dict[str, str], finalizers: list[str]) -> None:
        metadata = {"name": name, "labels": labels, "finalizers": finalizers, "uid": "mine", "generation": 7}
        body = {**KIND, "metadata": metadata, "spec": {"n": spec}, "status": {"n": 5}}
        if name in self.model:
            self.request("POST", WIDGETS, body, code=409)
            return
        answer = self.request("POST", WIDGETS, body, code=201)
        assert answer["metadata"]["uid"] != "mine"
        self.model[name] = Widget(spec=spec, labels=labels, finalizers=finalizers)
        self.written(name, answer, changed=True)

    @rule(name=names, spec=numbers, labels=labels, given=st.sampled_from(["current", "current", "stale", ""]))
    def replace(self, name: str, spec: int, labels: dict[str, str], given: str) -> None:
        known = self.model.get(name, Widget())
        version = {"current": known.version or "1", "stale": "1", "": ""}[given]
        metadata = {
            "name": name,
            "labels": labels,
            "finalizers": known.finalizers,
            "resourceVersion": version,
        }
        body = {**KIND, "metadata": metadata, "spec": {"n": spec}, "status": {"n": 5}}
        if name not in self.model or given != "current":
            code = 404 if name not in self.model else 409 if given else 422
            self.request("PUT", f"{WIDGETS}/{name}", body, code=code)
            return
        is_new = (spec, labels) != (known.spec, known.labels)
        known.generation += spec != known.spec
        known.spec, known.labels = spec, labels
        self.written(name, self.request("PUT", f"{WIDGETS}/{name}", body, code=200), changed=is_new)

    @rule(name=names, status=numbers, labels=labels, is_patch=st.booleans())
    def report(self, name: str, status: int, labels: dict[str, str], is_patch: bool) -> None:
        path = f"{WIDGETS}/{name}/status"
        known = self.model.get(name, Widget())
        metadata = {"name": name, "labels": labels, "resourceVersion": known.version or "1"}
        body = {**KIND, "metadata": metadata, "spec": {"n": 9}, "status": {"n": status}}
        method, kind = ("PATCH", "application/merge-patch+json") if is_patch else ("PUT", "application/json")
        code = 200 if name in self.model else 404
        answer = self.request(method, path, body, code=code, kind=kind)
        if name in self.model:
            is_new, known.status = status != known.status, status
            self.written(name, answer, changed=is_new)

    @rule(name=names, spec=numbers, wanted=finalizers)
    def patch(self, name: str, spec: int, wanted: list[str]) -> None:
        body = {"spec": {"n": spec}, "metadata": {"finalizers": wanted}}
        path, kind = f"{WIDGETS}/{name}", "application/merge-patch+json"
        if name not in self.model:
            self.request("PATCH", path, body, code=404, kind=kind)
            return
        known = self.model[name]
        if known.is_deleting and not set(wanted) <= set(known.finalizers):
            self.request("PATCH", path, body, code=422, kind=kind)
            return
        is_new = (spec, wanted) != (known.spec, known.finalizers)
        known.generation += spec != known.spec
        known.spec, known.finalizers = spec, wanted
        answer = self.request("PATCH", path, body, code=200, kind=kind)
        if not self.finish(name):
            self.written(name, answer, changed=is_new)

    @rule(name=names, is_same=st.sampled_from([True, True, False]))
    def delete(self, name: str, is_same: bool) -> None:
        uid = self.model[name].uid if name in self.model and is_same else "other"
        body = {"preconditions": {"uid": uid}}
        if name not in self.model or not is_same:
            self.request("DELETE", f"{WIDGETS}/{name}", body, code=409 if name in self.model else 404)
            return
        known = self.model[name]
        is_first, known.is_deleting = not known.is_deleting, True
        answer = self.request("DELETE", f"{WIDGETS}/{name}", body, code=200)
        if self.finish(name):
            assert answer["status"] == "Success"
            return
        known.generation += is_first
        self.written(name, answer, changed=is_first)

    @invariant()
    def a_list_shows_the_model(self) -> None:
        if not self.newest:
            return
        found = self.request("GET", WIDGETS, code=200)
        assert {item["metadata"]["name"]: seen(item) for item in found["items"]} == self.model
        assert int(found["metadata"]["resourceVersion"]) >= self.newest


def seen(content: dict[str, Any]) -> Widget:
    """An object in the words of the model."""
    metadata = content["metadata"]
    return Widget(
        metadata["resourceVersion"],
        metadata["uid"],
        metadata["generation"],
        content["spec"]["n"],
        content.get("status", {}).get("n"),
        metadata.get("labels", {}),
        metadata.get("finalizers", []),
        "deletionTimestamp" in metadata,
    )


TestCrud = CrudModel.TestCase
TestCrud.settings = settings(max_examples=30)
