"""The policy of roles and bindings against a set of everything that each user may do, spelled out one by one."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.apiserver.auth import PathAccess, Policy, ResourceAccess, Rule, User
from kinformer.apiserver.auth._rules import missing

VERBS = ("get", "list")
GROUPS = ("", "apps")
RESOURCES = ("pods", "jobs")
SUBRESOURCES = ("", "log")
NAMESPACES = ("", "a", "b")
NAMES = ("", "x")
PATHS = ("/m", "/m/n", "/o")
USERS = (
    User("jane", ("dev",)),
    User("joe"),
    User("system:serviceaccount:a:x", ("dev",)),
    User("system:serviceaccount:b:x"),
)
PLACES = list(product(GROUPS, RESOURCES, SUBRESOURCES, NAMESPACES, NAMES))
ACCESSES = {verb: [ResourceAccess(verb, *place) for place in PLACES] for verb in VERBS}


def some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=2)


RULES = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": some(*VERBS, "*"),
            "apiGroups": some(*GROUPS, "*"),
            "resources": some("pods", "jobs", "pods/log", "*/log", "*"),
            "resourceNames": st.one_of(st.just([]), some(*NAMES[1:], "other")),
        }
    ),
    st.fixed_dictionaries({"verbs": some(*VERBS, "*"), "nonResourceURLs": some("/m", "/m/*", "/o", "*")}),
)
SUBJECTS = st.sampled_from(
    [
        {"kind": "User", "name": "jane"},
        {"kind": "Group", "name": "dev"},
        {"kind": "ServiceAccount", "name": "x", "namespace": "b"},
        {"kind": "ServiceAccount", "name": "x"},
    ]
)


class Grant(NamedTuple):
    """One thing that somebody may do."""

    verb: str
    what: tuple[str, ...]


def spelled_out(content: Mapping[str, Any]) -> Iterator[Grant]:
    """All that a rule lets through in a world of so few things; a resource as group, resource, subresource, name."""
    verbs = VERBS if "*" in content["verbs"] else content["verbs"]
    if "nonResourceURLs" in content:
        for verb, pattern in product(verbs, content["nonResourceURLs"]):
            for path in PATHS:
                if pattern in {path, "*"} or (pattern == "/m/*" and path == "/m/n"):
                    yield Grant(verb, (path,))
        return
    groups = GROUPS if "*" in content["apiGroups"] else content["apiGroups"]
    kinds: dict[str, Iterable[tuple[str, str]]] = {
        "*": list(product(RESOURCES, SUBRESOURCES)),
        "*/log": [(resource, "log") for resource in RESOURCES],
        "pods/log": [("pods", "log")],
        "pods": [("pods", "")],
        "jobs": [("jobs", "")],
    }
    for verb, group, resource in product(verbs, groups, content["resources"]):
        for kind, name in product(kinds[resource], content["resourceNames"] or NAMES):
            yield Grant(verb, (group, *kind, name))


def grant_of(access: ResourceAccess | PathAccess) -> Grant:
    if isinstance(access, PathAccess):
        return Grant(access.verb, (access.path,))
    return Grant(access.verb, (access.group, access.resource, access.subresource, access.name))


class PolicyMachine(RuleBasedStateMachine):
    """Few roles and bindings come, change and go; the model is what they grant, by user and namespace."""

    def __init__(self) -> None:
        super().__init__()
        self.roles: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.bindings: dict[tuple[str, str], tuple[tuple[str, str], dict[str, str]]] = {}

    @rule(home=st.sampled_from(NAMESPACES), name=st.sampled_from("rs"), rules=st.lists(RULES, max_size=2))
    def put_role(self, home: str, name: str, rules: list[dict[str, Any]]) -> None:
        self.roles[home, name] = rules

    @rule(home=st.sampled_from(NAMESPACES), name=st.sampled_from("rs"))
    def drop_role(self, home: str, name: str) -> None:
        self.roles.pop((home, name), None)

    @rule(
        home=st.sampled_from(NAMESPACES),
        of_cluster=st.booleans(),
        rules=st.lists(RULES, min_size=1),
        subject=SUBJECTS,
    )
    def grant(
        self, home: str, of_cluster: bool, rules: list[dict[str, Any]], subject: dict[str, str]
    ) -> None:
        """A role with its binding, since by chance alone they seldom meet."""
        self.put_role("" if of_cluster else home, "r", rules)
        self.put_binding(home, "b", of_cluster, "r", subject)

    @rule(
        home=st.sampled_from(NAMESPACES),
        name=st.sampled_from("bc"),
        of_cluster=st.booleans(),
        role=st.sampled_from("rs"),
        subject=SUBJECTS,
    )
    def put_binding(self, home: str, name: str, of_cluster: bool, role: str, subject: dict[str, str]) -> None:
        self.bindings[home, name] = (("" if of_cluster else home, role), subject)

    @rule(home=st.sampled_from(NAMESPACES), name=st.sampled_from("bc"))
    def drop_binding(self, home: str, name: str) -> None:
        self.bindings.pop((home, name), None)

    @rule(verb=st.sampled_from(VERBS))
    def ask(self, verb: str) -> None:
        """Everybody about everything with one verb: what the model says is allowed, and nothing else."""
        policy = Policy(self.objects())
        for user in USERS:
            may = set(self.granted(user))
            for access in ACCESSES[verb]:
                expected = (access.namespace, grant_of(access)) in may or ("", grant_of(access)) in may
                assert bool(policy.granted(user, access)) is expected, (user, access)
            for path in PATHS:
                wanted = PathAccess(verb, path)
                assert bool(policy.granted(user, wanted)) is (("", grant_of(wanted)) in may), (user, wanted)

    def granted(self, user: User) -> Iterator[tuple[str, Grant]]:
        for (home, _), (role, subject) in self.bindings.items():
            name = subject["name"]
            if subject["kind"] == "ServiceAccount":
                name = f"system:serviceaccount:{subject.get('namespace', home)}:{name}"
            if name == user.name or (subject["kind"] == "Group" and name in user.groups):
                for content in self.roles.get(role, ()):
                    for grant in spelled_out(content):
                        yield home, grant

    def objects(self) -> Iterator[dict[str, Any]]:
        for (home, name), rules in self.roles.items():
            place = {"namespace": home} if home else {}
            yield {
                "kind": "Role" if home else "ClusterRole",
                "metadata": {"name": name, **place},
                "rules": rules,
            }
        for (home, name), ((where, role), subject) in self.bindings.items():
            place = {"namespace": home} if home else {}
            yield {
                "kind": "RoleBinding" if home else "ClusterRoleBinding",
                "metadata": {"name": name, **place},
                "roleRef": {"kind": "Role" if where else "ClusterRole", "name": role},
                "subjects": [subject],
            }


TestPolicy = PolicyMachine.TestCase
TestPolicy.settings = settings(TestPolicy.settings, stateful_step_count=20)


@given(held=st.lists(RULES, max_size=3), wanted=st.lists(RULES, max_size=2))
def test_who_lacks_nothing_may_do_all_that_is_wanted_and_who_lacks_something_does_not_say_so_of_it(
    held: list[dict[str, Any]], wanted: list[dict[str, Any]]
) -> None:
    lacking = missing([Rule.of(content) for content in held], [Rule.of(content) for content in wanted])
    has = {grant for content in held for grant in spelled_out(content)}
    wants = {grant for content in wanted for grant in spelled_out(content)}
    lacks = {grant for rule_ in lacking for grant in spelled_out({"resourceNames": [], **rule_.to_object()})}
    assert wants <= has | lacks
    if wants - has:
        assert lacking
