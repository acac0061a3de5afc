import pytest

from kinformer.controller import EVERYWHERE, Forecast, Permission, Preflight, Review
from kinformer.meta import Resource

PODS, NODES = Resource.builtin("Pod"), Resource.builtin("Node")
SITES = Resource("example.dev", "v1", "websites", "Website")
LEASES = Resource.builtin("Lease")
READ = Review(Permission(PODS, ("list", "watch"), EVERYWHERE), ("list", "watch"))
STATUS = Review(Permission(SITES, ("get", "patch"), "shop", subresource="status"), ("get",), ("patch",))
LEASE = Review(Permission(LEASES, ("get", "update"), "", ("op",)), (), ("update",))


def test_it_is_two_tables_for_people() -> None:
    found = Preflight((READ, STATUS, LEASE), (Forecast(PODS, "*", 12_000, 6_000), Forecast(SITES, "shop", 0)))
    assert str(found).splitlines() == [
        "PERMISSION                   WHERE                      GRANTED      MISSING",
        "pods                         everywhere                 list, watch",
        "websites/status.example.dev  in shop                    get          patch",
        "leases.coordination.k8s.io   in its own namespace (op)               update, get: not known",
        "",
        "CACHE                 WHERE       OBJECTS  MEMORY",
        "pods                  everywhere  12,000   about 86.4 MB",
        "websites.example.dev  in shop     0        0 B",
        "all caches                                 about 86.4 MB",
    ]


def test_what_could_not_be_asked_is_told() -> None:
    found = Preflight((Review(READ.permission),), obstacle="403")
    assert str(found).endswith("\n\nnot everything could be asked: 403")
    assert "list, watch: not known" in str(found)
    assert found.missing == ()
    assert found.complaint() == ""


def test_what_is_missing_is_named_with_the_fix() -> None:
    found = Preflight((READ, STATUS, LEASE))
    assert found.missing == (
        Permission(SITES, ("patch",), "shop", subresource="status"),
        Permission(LEASES, ("update",), "", ("op",)),
    )
    assert found.complaint("site.py").splitlines()[1:] == [
        "  patch on websites/status.example.dev in shop",
        "  update on leases.coordination.k8s.io in its own namespace (op)",
        "the fix: apply the roles that 'kinformer manifests site.py' prints, with its --name and --namespace",
    ]


@pytest.mark.parametrize(
    ("objects", "sample", "size", "shown"),
    [
        (0, None, 0, "0 B"),
        (1, 100, 120, "about 120 B"),
        (1000, 1000, 1_200_000, "about 1.2 MB"),
        (10**9, 10**6, 12 * 10**14, "about 1.2e+06 GB"),
        (None, 1000, None, "not known"),
        (5, None, None, "not known"),
    ],
)
def test_a_cache_takes_a_fifth_more_than_the_json(
    objects: int | None, sample: int | None, size: int | None, shown: str
) -> None:
    forecast = Forecast(NODES, "*", objects, sample)
    assert forecast.size == size
    ((*_, text),) = Preflight((), (forecast,)).forecast_rows()
    assert text == shown


def test_the_sum_is_of_what_is_known() -> None:
    rows = [*Preflight((), (Forecast(PODS, "*", 1, 1000), Forecast(NODES, "*"))).forecast_rows()]
    assert rows[-1] == ("all caches", "", "", "about 1.2 kB")
    rows = [*Preflight((), (Forecast(PODS, "*"), Forecast(NODES, "*"))).forecast_rows()]
    assert rows[-1] == ("all caches", "", "", "not known")
