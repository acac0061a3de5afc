"""What lies between storage and verbs: continue tokens, selections and stored objects, against their definitions."""

import base64
import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kinformer.apiserver.cacher import Position, StoredObject, decode_continue, encode_continue, select
from kinformer.apiserver.storage import Change, KeyValue
from kinformer.testing.strategies import contents

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=5).filter(
    lambda name: name.strip("\0") not in {"", ".", ".."} and name not in {".", ".."}
)
STARTS = st.lists(NAMES, min_size=1, max_size=2).map(lambda names: "/".join(names) + "\0")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def token_of(body: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")


@given(revision=st.integers(1, 2**63) | st.just(-1), start=STARTS)
def test_a_token_leads_back_to_its_position(revision: int, start: str) -> None:
    position = Position(revision, start)
    token = encode_continue(position)
    assert decode_continue(token) == position
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(
    token=st.text(max_size=20)
    | st.fixed_dictionaries(
        {},
        optional={
            "v": JSON | st.just("meta.k8s.io/v1"),
            "rv": JSON | st.just(7),
            "start": JSON,
        },
    ).map(token_of)
    | st.lists(st.sampled_from(["a", "a\0", ".", "..", ""]), max_size=4).map(
        lambda parts: token_of({"v": "meta.k8s.io/v1", "rv": 7, "start": "/".join(parts)})
    )
)
def test_no_token_leads_out_of_its_list(token: str) -> None:
    try:
        revision, start = decode_continue(token)
    except ValueError:
        return
    assert revision == -1 or revision > 0
    assert not start or not {".", "..", ""} & set(start.split("/"))


@given(history=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, "in", "out"])), max_size=12))
def test_whoever_follows_a_selection_knows_all_that_is_in_it(history: list[tuple[str, str | None]]) -> None:
    """A watcher who believes what it is told, against the whole content through the selector."""
    content: dict[str, KeyValue] = {}
    told: dict[str, KeyValue] = {}
    for revision, (key, value) in enumerate(history, 2):
        before = content.pop(key, None)
        if value is not None:
            created = before.create_revision if before else revision
            version = before.version + 1 if before else 1
            content[key] = KeyValue(key, value.encode(), created, revision, version)
        elif before is None:
            continue
        change = Change(revision, key, content.get(key), before)
        seen = select(change, lambda one: one.value == b"in")
        if seen == "DELETED":
            assert before is not None
            assert told.pop(key) == before
        elif seen is not None:
            assert (seen == "ADDED") == (key not in told)
            told[key] = content[key]
        assert told == {name: one for name, one in content.items() if one.value == b"in"}


@given(
    content=contents(),
    version=st.integers(0, 10**12),
    api_version=st.sampled_from(["v1", "example.dev/v2"]),
    looks=st.lists(st.sampled_from(["content", "json", "item", "repr"]), min_size=1, max_size=6),
)
def test_a_stored_object_is_its_content_with_kind_and_versions_on_it(
    content: dict[str, Any], version: int, api_version: str, looks: list[str]
) -> None:
    """Whatever is looked at first, and again."""
    whole = {"kind": "Pod", "apiVersion": "v1", **content}
    stored = StoredObject.encode(whole)
    obj = StoredObject(stored, version, kind=whole["kind"], api_version=api_version)
    metadata = {key: value for key, value in whole["metadata"].items() if key != "resourceVersion"}
    if version:
        metadata["resourceVersion"] = str(version)
    shown = {**whole, "apiVersion": api_version, "metadata": metadata}
    item = {key: value for key, value in shown.items() if key not in {"kind", "apiVersion"}}
    for look in looks:
        match look:
            case "content":
                assert obj.content == shown
                assert obj.content is obj.content, "decoded once"
            case "json":
                assert msgspec.json.decode(obj.json) == shown
                assert obj.json is obj.json, "serialised once"
            case "item":
                assert msgspec.json.decode(obj.item) == item
            case _:
                assert str(version) in repr(obj)
