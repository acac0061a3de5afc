import pytest
from starlette.datastructures import Headers

from kinformer.apiserver.auth import Caller, Policy, User
from kinformer.apiserver.auth._impersonation import impersonating
from kinformer.apiserver.registry import StatusError

ROOT = Caller(User("root", ("system:masters",)), Policy(()))


def sent(**headers: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in headers.items()})


def allowed(group: str, resource: str, *names: str) -> Caller:
    rule = {
        "verbs": ["impersonate"],
        "apiGroups": [group],
        "resources": [resource],
        "resourceNames": list(names),
    }
    ref = {"kind": "ClusterRole", "name": "r"}
    subjects = [{"kind": "User", "name": "jane"}]
    objects = [
        {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]},
        {"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": ref, "subjects": subjects},
    ]
    return Caller(User("jane"), Policy(objects))


def test_without_the_headers_one_is_oneself() -> None:
    assert impersonating(ROOT, sent(Accept="x")) is ROOT


def test_one_acts_as_whom_the_headers_say_a_4() -> None:
    headers = Headers(
        raw=[
            (b"impersonate-user", b"joe"),
            (b"impersonate-group", b"dev"),
            (b"impersonate-group", b"ops"),
            (b"impersonate-uid", b"u1"),
            (b"impersonate-extra-acme.com%2fteam", b"a"),
            (b"impersonate-extra-acme.com%2fteam", b"b"),
        ]
    )
    user = impersonating(ROOT, headers).user
    assert user == User("joe", ("dev", "ops", "system:authenticated"), "u1", {"acme.com/team": ("a", "b")})
    assert user.to_object() == {
        "username": "joe",
        "uid": "u1",
        "groups": ["dev", "ops", "system:authenticated"],
        "extra": {"acme.com/team": ["a", "b"]},
    }


def test_a_service_account_has_its_groups() -> None:
    user = impersonating(ROOT, sent(Impersonate_User="system:serviceaccount:shop:cart")).user
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated")


def test_nobody_stays_nobody() -> None:
    user = impersonating(ROOT, sent(Impersonate_User="system:anonymous")).user
    assert user.groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    "headers", [{"Impersonate_Group": "dev"}, {"Impersonate_Uid": "u"}, {"Impersonate_Extra_a": "b"}]
)
def test_a_part_without_the_user_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(StatusError, match="without impersonating a user") as refusal:
        impersonating(ROOT, sent(**headers))
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    ("caller", "headers"),
    [
        pytest.param(allowed("", "users"), {"Impersonate_User": "joe"}, id="a user"),
        pytest.param(allowed("", "users", "joe"), {"Impersonate_User": "joe"}, id="this user"),
        pytest.param(
            allowed("", "serviceaccounts"), {"Impersonate_User": "system:serviceaccount:a:b"}, id="an account"
        ),
    ],
)
def test_who_may_act_as_somebody_does(caller: Caller, headers: dict[str, str]) -> None:
    assert impersonating(caller, sent(**headers)).user.name == headers["Impersonate_User"]


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({}, 'users "joe" is forbidden: User "jane" cannot impersonate resource "users" in API group ""'),
        ({"Impersonate_Group": "system:masters"}, 'groups "system:masters" is forbidden'),
        ({"Impersonate_Uid": "u1"}, 'uids.authentication.k8s.io "u1" is forbidden'),
        ({"Impersonate_Extra_team": "a"}, 'resource "userextras/team" in API group "authentication.k8s.io"'),
    ],
)
def test_each_part_must_be_allowed_by_itself(headers: dict[str, str], text: str) -> None:
    caller = allowed("", "users", *([] if headers else ["jim"]))
    with pytest.raises(StatusError, match=text) as refusal:
        impersonating(caller, sent(Impersonate_User="joe", **headers))
    assert refusal.value.code == 403
