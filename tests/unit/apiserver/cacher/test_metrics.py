"""What a watch cache counts."""

from kinformer.apiserver.cacher import Metrics


def test_counters_add_up_by_their_labels_and_gauges_do_not() -> None:
    metrics = Metrics("apps", "deployments")
    metrics.count("reads_total", fallback="true")
    metrics.count("reads_total", 2, fallback="false")
    metrics.set("size", 100)
    metrics.set("size", 50)
    assert metrics.get("reads_total") == 3
    assert metrics.get("reads_total", fallback="true") == 1
    assert metrics.get("none_total") == 0
    assert metrics.values() == {
        'reads_total{group="apps",resource="deployments",fallback="true"}': 1,
        'reads_total{group="apps",resource="deployments",fallback="false"}': 2,
        'size{group="apps",resource="deployments"}': 50,
    }


def test_a_duration_is_in_each_bucket_that_it_fits_in() -> None:
    metrics = Metrics("", "pods")
    metrics.observe("wait_seconds", 0.3)
    metrics.observe("wait_seconds", 3.0)
    assert metrics.get("wait_seconds_sum") == 3.3
    assert metrics.get("wait_seconds_count") == 2
    ends = ("0.2", "0.4", "2", "3", "+Inf")
    assert [metrics.get("wait_seconds_bucket", le=end) for end in ends] == [0, 1, 1, 2, 2]
