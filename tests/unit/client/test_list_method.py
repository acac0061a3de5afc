from functools import partial
from typing import Any

import kubernetes_asyncio.client as generated
import pytest

from kinformer.client._list_method import list_keywords, list_method, list_of_any, watch_keywords
from kinformer.meta import Resource

PODS = Resource.builtin("Pod")
GADGETS = Resource("example.dev", "v1", "gadgets", "Gadget")


class Client:
    """Notes what is called, as far as a method may ask an ``ApiClient``."""

    client_side_validation = True

    def __init__(self) -> None:
        self.called: list[tuple[str, dict[str, str]]] = []

    def select_header_accept(self, accepts: list[str]) -> str:
        return accepts[0]

    async def call_api(
        self, path: str, _method: str, path_params: Any = (), query_params: Any = (), *_: Any, **options: Any
    ) -> Any:
        assert options["_preload_content"] is False
        self.called.append(
            (path.format(**dict(path_params)), {name: str(value) for name, value in query_params})
        )


@pytest.fixture
def client() -> Any:
    return Client()


def found(method: Any, *args: Any, resource: Resource | None = None, **keywords: Any) -> Resource:
    return list_method(method, args, keywords, resource)[1]


@pytest.mark.parametrize(
    ("api", "name", "args", "resource"),
    [
        ("CoreV1Api", "list_namespaced_pod", ("default",), PODS),
        ("CoreV1Api", "list_pod_for_all_namespaces", (), PODS),
        ("CoreV1Api", "list_namespaced_pod_with_http_info", ("default",), PODS),
        ("CoreV1Api", "list_pod_for_all_namespaces_with_http_info", (), PODS),
        ("CoreV1Api", "list_node", (), Resource.builtin("Node")),
        ("CoreV1Api", "list_namespace", (), Resource.builtin("Namespace")),
        ("CoreV1Api", "list_event_for_all_namespaces", (), Resource.builtin("Event")),
        ("EventsV1Api", "list_event_for_all_namespaces", (), Resource("events.k8s.io", "v1", "events", "Event")),
        ("AppsV1Api", "list_namespaced_deployment", ("default",), Resource.builtin("Deployment")),
        ("AutoscalingV1Api", "list_namespaced_horizontal_pod_autoscaler", ("a",), Resource("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler")),
        ("RbacAuthorizationV1Api", "list_cluster_role", (), Resource.builtin("ClusterRole")),
        ("ApiextensionsV1Api", "list_custom_resource_definition", (), Resource.builtin("CustomResourceDefinition")),
        ("StorageV1Api", "list_csi_driver", (), Resource.builtin("CSIDriver")),
    ],
)  # fmt: skip
def test_a_method_of_a_built_in_kind_says_what_it_lists(
    client: Any, api: str, name: str, args: tuple[str, ...], resource: Resource
) -> None:
    assert found(getattr(getattr(generated, api)(client), name), *args) == resource
    assert client.called == []


def test_each_list_method_of_the_package_says_what_it_lists(client: Any) -> None:
    seen = set()
    for api in (getattr(generated, name)(client) for name in dir(generated) if name.endswith("Api")):
        for name in dir(api):
            if name.startswith("list_") and not isinstance(api, generated.CustomObjectsApi):
                args = ("default",) if "_namespaced_" in name else ()
                resource = found(getattr(api, name), *args)
                assert (
                    name.partition("_with_http")[0]
                    .replace("_", "")
                    .startswith(f"list{'namespaced' if args else ''}{resource.kind.lower()}")
                )
                seen.add(resource)
    assert len(seen) > 60
    for resource in seen:
        try:
            builtin = Resource.builtin(resource.plural)
        except LookupError:
            continue
        if (builtin.group, builtin.version) == (resource.group, resource.version):
            assert resource == builtin


def test_custom_objects_are_what_the_caller_says(client: Any) -> None:
    custom = generated.CustomObjectsApi(client)
    args = ("example.dev", "v1", "gadgets")
    assert found(custom.list_cluster_custom_object, *args, resource=GADGETS) == GADGETS
    in_one = partial(custom.list_namespaced_custom_object, "example.dev", namespace="default")
    assert found(in_one, version="v1", plural="gadgets", resource=GADGETS) == GADGETS
    with pytest.raises(
        ValueError, match="list_cluster_custom_object does not say what it lists: give resource="
    ):
        found(custom.list_cluster_custom_object, *args)
    with pytest.raises(ValueError, match=r"lists example\.dev/v1/widgets, not gadgets\.example\.dev"):
        found(custom.list_cluster_custom_object, "example.dev", "v1", "widgets", resource=GADGETS)


def test_a_resource_that_a_method_does_not_list_is_refused(client: Any) -> None:
    core = generated.CoreV1Api(client)
    assert found(core.list_namespaced_pod, "default", resource=PODS) == PODS
    with pytest.raises(ValueError, match="list_node lists v1/nodes, not pods"):
        found(core.list_node, resource=PODS)


def test_any_other_function_is_taken_at_the_callers_word() -> None:
    async def listing(**keywords: Any) -> Any: ...

    assert found(listing, resource=GADGETS) == GADGETS
    with pytest.raises(ValueError, match="listing does not say what it lists"):
        found(listing)


def test_arguments_that_the_method_does_not_take_are_refused_at_once(client: Any) -> None:
    core = generated.CoreV1Api(client)
    with pytest.raises(TypeError, match="namespace"):
        found(core.list_namespaced_pod)
    with pytest.raises(TypeError, match="unexpected keyword argument 'labels'"):
        found(core.list_node, labels="a=b")


def test_what_is_no_method_and_what_is_no_client_are_refused_at_once(client: Any) -> None:
    with pytest.raises(TypeError, match=r"write over\(api_client, resource\)"):
        found(client)
    with pytest.raises(TypeError, match="is no ApiClient"):
        list_of_any(generated.CoreV1Api(client), "/api/v1/pods", {})


@pytest.mark.parametrize(
    "keyword", ["watch", "resource_version", "limit", "_continue", "_preload_content", "_request_timeout"]
)
def test_what_a_reflector_decides_about_cannot_be_given(client: Any, keyword: str) -> None:
    method: Any = generated.CoreV1Api(client).list_node
    for given, keywords in ((method, {keyword: "1"}), (partial(method, **{keyword: "1"}), {})):
        with pytest.raises(ValueError, match=f"{keyword} cannot be given: a reflector decides about that"):
            list_method(given, (), keywords, None)


async def test_a_partial_is_bound_as_it_would_be_called(client: Any) -> None:
    core = generated.CoreV1Api(client)
    method, _ = list_method(
        partial(partial(core.list_namespaced_pod, "default"), label_selector="a=b", field_selector="x"),
        (),
        {"field_selector": "y"},
        None,
    )
    await method(**list_keywords("5", "Exact", 10, ""))
    assert client.called == [
        (
            "/api/v1/namespaces/default/pods",
            {
                "labelSelector": "a=b",
                "fieldSelector": "y",
                "resourceVersion": "5",
                "resourceVersionMatch": "Exact",
                "limit": "10",
            },
        )
    ]


def test_what_is_not_asked_for_is_left_out() -> None:
    assert list_keywords("", "", 0, "") == {"_preload_content": False}
    assert list_keywords("0", "", 5, "") == {"resource_version": "0", "limit": 5, "_preload_content": False}
    assert list_keywords("", "", 5, "t") == {"limit": 5, "_continue": "t", "_preload_content": False}
    assert watch_keywords("7", 0, bookmarks=False, initial_events=False) == {
        "watch": True,
        "resource_version": "7",
        "_preload_content": False,
    }


async def test_any_path_takes_the_same_keywords(client: Any) -> None:
    method = list_of_any(client, "/apis/example.dev/v1/gadgets", {"labelSelector": "a=b"})
    await method(**watch_keywords("", 300, bookmarks=True, initial_events=True))
    assert client.called == [
        (
            "/apis/example.dev/v1/gadgets",
            {
                "labelSelector": "a=b",
                "watch": "true",
                "timeoutSeconds": "300",
                "allowWatchBookmarks": "true",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
            },
        )
    ]
