"""What it costs to take in an object, against skipping over its JSON with msgspec: the floor for any decoder."""

import copy
import json

import msgspec

from kinformer.meta import Object, Record, Resource, prune_managed_fields
from tests.bench.measure import Comparison
from tests.bench.pods import pod

PODS = Resource.builtin("Pod")
CONTENT = [pod(index) for index in range(2000)]
RAW = [json.dumps(content, separators=(",", ":")).encode() for content in CONTENT]
OBJECTS = [Object.from_json(raw, PODS) for raw in RAW]
_skip = msgspec.json.Decoder(msgspec.Raw).decode


def comparisons() -> list[Comparison]:
    """Ingest, prune and copy."""
    count = len(RAW)
    return [
        Comparison("a record of an object : skipping its JSON", _records, _scan, count, 3.0),
        Comparison("a pruned record of an object : json.loads of it", _pruned, _loads, count, 0.6),
        Comparison("obj.thaw() : copy.deepcopy of the dict", _thaw, _deepcopy, count, 0.25),
    ]


def _records() -> None:
    for raw in RAW:
        Record.decode(raw, PODS)


def _pruned() -> None:
    for raw in RAW:
        Record.decode(prune_managed_fields(raw), PODS)


def _scan() -> None:
    for raw in RAW:
        _skip(raw)


def _loads() -> None:
    for raw in RAW:
        json.loads(raw)


def _thaw() -> None:
    for obj in OBJECTS:
        obj.thaw()


def _deepcopy() -> None:
    for content in CONTENT:
        copy.deepcopy(content)
