import pytest

from kinformer.apiserver.auth import Access, PathAccess, ResourceAccess, Rule
from kinformer.apiserver.auth._rules import missing

GET_PODS = ResourceAccess("get", "", "pods", namespace="default", name="web")
GET_LOG = ResourceAccess("get", "", "pods", "log", "default", "web")
LIST_PODS = ResourceAccess("list", "", "pods", namespace="default")


@pytest.mark.parametrize(
    ("rule", "access", "is_allowed"),
    [
        pytest.param(Rule(("get",), ("",), ("pods",)), GET_PODS, True, id="exactly"),
        pytest.param(Rule(("list",), ("",), ("pods",)), GET_PODS, False, id="another verb"),
        pytest.param(Rule(("get",), ("apps",), ("pods",)), GET_PODS, False, id="another group"),
        pytest.param(Rule(("get",), ("",), ("nodes",)), GET_PODS, False, id="another resource"),
        pytest.param(Rule(("*",), ("*",), ("*",)), GET_LOG, True, id="everything"),
        pytest.param(
            Rule(("get",), ("",), ("pods",)), GET_LOG, False, id="a resource lacks its subresources"
        ),
        pytest.param(Rule(("get",), ("",), ("pods/log",)), GET_LOG, True, id="a subresource"),
        pytest.param(Rule(("get",), ("",), ("pods/log",)), GET_PODS, False, id="a subresource alone"),
        pytest.param(Rule(("get",), ("",), ("*/log",)), GET_LOG, True, id="a subresource of all"),
        pytest.param(Rule(("get",), ("",), ("*/log",)), GET_PODS, False, id="no subresource"),
        pytest.param(
            Rule(("get",), ("",), ("pods/*",)), GET_LOG, False, id="a star after the slash means nothing"
        ),
        pytest.param(Rule(("get",), ("",), ("pods",), ("web",)), GET_PODS, True, id="the named object"),
        pytest.param(Rule(("get",), ("",), ("pods",), ("db",)), GET_PODS, False, id="another object"),
        pytest.param(
            Rule(("list",), ("",), ("pods",), ("web",)), LIST_PODS, False, id="a name, and all are asked for"
        ),
        pytest.param(Rule(("get",), paths=("/version",)), PathAccess("get", "/version"), True, id="a path"),
        pytest.param(
            Rule(("get",), paths=("/api/*",)), PathAccess("get", "/api/v1"), True, id="a path below"
        ),
        pytest.param(Rule(("get",), paths=("/api/*",)), PathAccess("get", "/api"), False, id="a path above"),
        pytest.param(Rule(("get",), paths=("*",)), PathAccess("put", "/api"), False, id="another method"),
        pytest.param(
            Rule(("*",), ("*",), ("*",)), PathAccess("get", "/api"), False, id="resources are no paths"
        ),
        pytest.param(Rule(("*",), paths=("*",)), GET_PODS, False, id="paths are no resources"),
    ],
)
def test_a_rule_allows_a_5(rule: Rule, access: Access, is_allowed: bool) -> None:
    assert rule.allows(access) is is_allowed


def test_a_rule_is_read_and_shown_as_it_was() -> None:
    content = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["web"]}
    assert Rule.of(content).to_object() == content
    assert Rule.of({"verbs": ["get"], "nonResourceURLs": ["/x"]}).to_object() == {
        "verbs": ["get"],
        "nonResourceURLs": ["/x"],
    }
    assert Rule.of({"verbs": None}).to_object() == {"verbs": [], "apiGroups": [], "resources": []}
    assert (
        str(Rule.of(content)) == '{APIGroups:[""], Resources:["pods"], ResourceNames:["web"], Verbs:["get"]}'
    )


PODS = Rule(("get", "list"), ("",), ("pods",))


@pytest.mark.parametrize(
    ("held", "wanted", "lacking"),
    [
        pytest.param([PODS], PODS, [], id="the same"),
        pytest.param(
            [Rule(("get",), ("",), ("pods",)), Rule(("list",), ("",), ("*",))], PODS, [], id="in two parts"
        ),
        pytest.param(
            [Rule(("get",), ("",), ("pods",))], PODS, [Rule(("list",), ("",), ("pods",))], id="one verb"
        ),
        pytest.param(
            [PODS], Rule(("*",), ("",), ("pods",)), [Rule(("*",), ("",), ("pods",))], id="all verbs"
        ),
        pytest.param(
            [Rule(("*",), ("*",), ("*",))], Rule(("x",), ("y",), ("z/a",), ("n",)), [], id="by everything"
        ),
        pytest.param(
            [Rule(("get",), ("",), ("*/log",))], Rule(("get",), ("",), ("pods/log",)), [], id="by */log"
        ),
        pytest.param([PODS], Rule(("get",), ("",), ("pods",), ("web",)), [], id="an object of all"),
        pytest.param(
            [Rule(("get",), ("",), ("pods",), ("web",))],
            Rule(("get",), ("",), ("pods",)),
            [Rule(("get",), ("",), ("pods",))],
            id="all of one object",
        ),
        pytest.param(
            [Rule(("get",), ("",), ("pods",), ("web",))],
            Rule(("get",), ("",), ("pods",), ("web", "db")),
            [Rule(("get",), ("",), ("pods",), ("db",))],
            id="two of one object",
        ),
        pytest.param(
            [Rule(("get",), paths=("/api/*",))], Rule(("get",), paths=("/api/v1",)), [], id="a path"
        ),
        pytest.param(
            [Rule(("*",), ("*",), ("*",))],
            Rule(("get",), paths=("/x",)),
            [Rule(("get",), paths=("/x",))],
            id="a path by resources",
        ),
    ],
)
def test_what_is_not_held_is_missing(held: list[Rule], wanted: Rule, lacking: list[Rule]) -> None:
    assert list(missing(held, [wanted])) == lacking
