"""Records whose bytes are compressed."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import msgspec

from kinformer.informer._compaction import Compaction
from kinformer.meta import Object, Record, Resource

PODS = Resource.builtin("Pod")


def record(index: int, **spec: Any) -> Record:
    metadata = {"name": f"web-{index}", "namespace": "default", "uid": f"u{index}", "resourceVersion": "1"}
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": spec}), PODS)


def pod(index: int) -> Record:
    names = ("LISTEN_ADDRESS", "LOG_LEVEL", "DATABASE_URL", "CACHE_SIZE", "FEATURE_FLAGS")
    return record(
        index, nodeName=f"node-{index % 7}", env=[{"name": name, "value": name * 3} for name in names]
    )


def noise(index: int) -> Record:
    named = record(index)
    return Record(named.resource, named.key, named.metadata, Random(index).randbytes(2000))


def test_a_packed_record_is_of_the_same_object() -> None:
    pack, plain = Compaction(), pod(1)
    packed = pack(plain)
    assert packed.packing is not None
    assert (packed.resource, packed.key, packed.metadata, packed.raw) == (
        plain.resource,
        plain.key,
        plain.metadata,
        plain.raw,
    )
    assert Object(packed) == Object(plain)
    assert Object(packed).to_json() == Object(plain).to_json()
    assert Object(packed)["spec"] == Object(plain)["spec"]


def test_what_is_packed_stays_so() -> None:
    pack = Compaction()
    packed = pack(pod(1))
    assert pack(packed) is packed


def test_what_the_first_have_in_common_makes_the_rest_small() -> None:
    pack = Compaction()
    sizes = [len(pack(pod(index)).held) for index in range(100)]
    alone = sizes[0]
    assert alone < len(pod(0).raw) / 2
    assert max(sizes[:64]) <= alone + 10
    assert max(sizes[64:]) < alone / 2


def test_records_from_before_and_after_the_dictionary_are_read_side_by_side() -> None:
    pack, plain = Compaction(), [pod(index) for index in range(100)]
    packed = [pack(each) for each in plain]
    assert len({each.packing for each in packed}) == 2
    assert [each.raw for each in packed] == [each.raw for each in plain]


def test_what_hardly_gets_smaller_is_held_as_it_is() -> None:
    pack = Compaction()
    for index in range(100):
        found = noise(index)
        assert pack(found) is found


def test_small_records_that_gain_nothing_alone_gain_by_the_dictionary() -> None:
    pack = Compaction()
    first, *_, last = [pack(record(index)) for index in range(100)]
    assert first.packing is None
    assert len(last.held) < len(last.raw) / 2


def test_without_anything_in_common_each_is_compressed_alone() -> None:
    pack = Compaction()
    packed = [pack(record(0, text=chr(0x4E00 + index) * 500)) for index in range(100)]
    assert max(len(each.held) for each in packed) < len(packed[0].raw) / 4


def test_samples_of_no_length_are_no_trouble() -> None:
    pack, empty = Compaction(), Record(PODS, pod(0).key, pod(0).metadata, b"")
    assert all(pack(empty) is empty for _ in range(70))


def test_any_number_of_threads_may_read_at_once() -> None:
    pack, plain = Compaction(), [pod(index) for index in range(300)]
    packed = [pack(each) for each in plain]
    with ThreadPoolExecutor(4) as pool:
        for read in pool.map(lambda _: [each.raw for each in packed], range(8)):
            assert read == [each.raw for each in plain]


def test_a_copy_knows_nothing_of_the_packing() -> None:
    plain = pod(1)
    packed = Compaction()(plain)
    for copied in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert copied == plain
    assert copy.deepcopy(Object(packed)) == Object(plain)


def test_zstandard_is_imported_by_who_needs_it_and_its_absence_names_the_extra() -> None:
    code = (
        "import sys, kinformer.informer\n"
        "print('zstandard' in sys.modules)\n"
        "sys.modules['zstandard'] = None\n"
        "kinformer.informer.SharedInformer(None, name='pods', compact=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n"
    assert done.stderr.endswith(
        "ImportError: compact=True needs zstandard, which is not installed: pip install 'kinformer[fast]'\n"
    )
