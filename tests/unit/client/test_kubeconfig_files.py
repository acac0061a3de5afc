import base64
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kinformer.client._kubeconfig_files import Entry, choose, keep
from kinformer.errors import ConfigError


def entry(**fields: Any) -> Entry:
    return Entry(
        Path("/home/me/.kube/config"), "users[me].user", {k.replace("_", "-"): v for k, v in fields.items()}
    )


def test_an_entry_gives_what_is_there_and_nothing_for_the_rest() -> None:
    found = entry(name="x", on=True, many=["a", "b"], inner={"k": "v"}, nothing=None)
    assert (found.text("name"), found.text("nothing"), found.text("absent")) == ("x", "", "")
    assert (found.flag("on"), found.flag("absent")) == (True, False)
    assert (found.texts("many"), found.texts("absent")) == (("a", "b"), ())
    inner = found.mapping("inner")
    assert inner is not None
    assert (inner.where, inner.text("k")) == ("users[me].user.inner", "v")
    assert found.mapping("absent") is None


def test_a_relative_path_is_beside_the_kubeconfig() -> None:
    found = entry(near="certs/me.pem", far="/etc/me.pem", up="../x")
    assert found.file("near") == "/home/me/.kube/certs/me.pem"
    assert found.file("far") == "/etc/me.pem"
    assert os.path.normpath(found.file("up")) == "/home/me/x"
    assert found.file("absent") == ""


def test_data_are_base64_in_however_many_lines() -> None:
    encoded = base64.encodebytes(b"x" * 100).decode()
    assert "\n" in encoded.strip()
    assert entry(pem=encoded).data("pem") == "x" * 100
    assert entry().data("pem") == ""


@pytest.mark.parametrize("text", ["aGk", "hunter2!", base64.b64encode(b"\xff\xfe").decode()])
def test_data_that_are_none_are_named_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigError, match=r"users\[me\]\.user\.pem must be a PEM file in base64") as caught:
        entry(pem=text).data("pem")
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("read", "value", "said"),
    [
        ("text", 5, "must be text, not int: put it in quotes"),
        ("text", True, "must be text, not bool: put it in quotes"),
        ("text", ["hunter2"], "must be text, not list$"),
        ("flag", "hunter2", "must be true or false, not str$"),
        ("texts", "hunter2", "must be a list, not str$"),
        ("texts", ["hunter2", 5], "must be a list of texts$"),
        ("mapping", "hunter2", "must be a mapping, not str$"),
    ],
)
def test_another_type_is_named_and_not_shown(read: str, value: Any, said: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"kubeconfig /home/me/\.kube/config: users\[me\]\.user\.x {said}"
    ) as caught:
        getattr(entry(x=value), read)("x")
    assert "hunter2" not in str(caught.value)


def content(server: str, *, user: str = "u", current: str = "c") -> dict[str, Any]:
    return {
        "current-context": current,
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": user}}],
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": server}}],
    }


def write(path: Path, what: Any) -> Path:
    path.write_text(what if isinstance(what, str) else json.dumps(what))  # JSON is YAML
    return path


def test_of_several_files_the_first_that_has_a_name_counts_for_all_of_it(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"users": [{"name": "u", "user": {"username": "me"}}]})
    two = write(tmp_path / "two", content("https://two"))
    three = write(tmp_path / "three", content("https://three", current="d"))
    chosen = choose([one, tmp_path / "absent", two, three, two], "")
    assert (chosen.name, chosen.cluster.text("server")) == ("c", "https://two")
    assert chosen.user.fields == {"username": "me"}  # and nothing of the other two
    assert (chosen.cluster.path, chosen.user.path) == (two, one)


ENTRIES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 99), max_size=3)


@settings(max_examples=20)
@given(files=st.lists(st.fixed_dictionaries({"clusters": ENTRIES, "users": ENTRIES}), min_size=1, max_size=4))
def test_each_name_is_what_the_first_file_that_has_it_says(files: list[dict[str, dict[str, int]]]) -> None:
    """Whatever is in which file, of whatever length the list."""
    first = {
        section: {name: number for file in reversed(files) for name, number in file[section].items()}
        for section in ("clusters", "users")
    }
    pairs = [(cluster, user) for cluster in "abc" for user in "abc"]
    contexts = [{"name": c + u, "context": {"cluster": c, "user": u}} for c, u in pairs]
    with TemporaryDirectory() as folder:
        paths = [write(Path(folder) / "contexts", {"contexts": contexts})]
        for index, file in enumerate(files):
            made = {
                "clusters": [
                    {"name": name, "cluster": {"server": str(n)}} for name, n in file["clusters"].items()
                ],
                "users": [{"name": name, "user": {"token": str(n)}} for name, n in file["users"].items()],
            }
            paths.append(write(Path(folder) / str(index), made))
        for cluster, user in pairs:
            if cluster in first["clusters"] and user in first["users"]:
                chosen = choose(paths, cluster + user)
                assert chosen.cluster.text("server") == str(first["clusters"][cluster])
                assert chosen.user.text("token") == str(first["users"][user])
            else:
                with pytest.raises(ConfigError, match="is not among the"):
                    choose(paths, cluster + user)


@pytest.mark.parametrize("empty", ["", "\n# nothing yet\n", "{}"])
def test_an_empty_file_among_others_is_passed_over(tmp_path: Path, empty: str) -> None:
    paths = [write(tmp_path / "one", empty), write(tmp_path / "two", content("https://two"))]
    assert choose(paths, "").cluster.text("server") == "https://two"


def test_what_nobody_asks_for_may_be_anything(tmp_path: Path) -> None:
    made = content("https://one") | {"preferences": {"colors": True}, "future": [1]}
    made["clusters"][0]["cluster"]["future"] = 7
    made["contexts"].append({"name": "broken", "context": {"cluster": "gone", "user": 5}})
    assert choose([write(tmp_path / "one", made)], "").user.text("token") == "https://one"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("token: hunter2: x", "at line 2, column 17"),
        ("token: *hunter2", "at line 2"),
        ("token: !hunter2 x", "at line 2"),
        ("token: @hunter2", "at line 2"),
        ("expiry: 2026-99-99", ""),
        ("[" * 600, ""),
        ("token: !!bool hunter2", ""),
        ('token: !!int ""', ""),
        ("expiry: !!timestamp hunter2", ""),
        ('token: "hunter2', "at line 3"),
    ],
)
def test_a_line_that_is_no_yaml_is_told_by_its_place(tmp_path: Path, line: str, place: str) -> None:
    path = write(tmp_path / "config", f"a:\n  {line}\n")
    with pytest.raises(
        ConfigError, match=rf"kubeconfig {path} is not valid YAML.*{place}.*in quotes"
    ) as caught:
        choose([path], "")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_two_entries_of_one_name_are_refused_within_a_file(tmp_path: Path) -> None:
    made = content("https://one")
    made["users"] *= 2
    with pytest.raises(ConfigError, match="users has two entries of the name 'u'"):
        choose([write(tmp_path / "one", made)], "")


def test_a_path_that_names_nothing_is_told() -> None:
    with pytest.raises(
        ConfigError, match=r"kubeconfig of no name does not exist: correct the path or \$KUBECONFIG"
    ):
        choose([], "")


def test_a_path_that_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: .* too long"):
        choose([tmp_path / ("a" * 300)], "")


def login(path: Path) -> Entry:
    made = content("https://one")
    made["users"] = [
        {"name": "other", "user": {"token": "t"}},
        {
            "name": "u",
            "user": {"auth-provider": {"name": "oidc", "config": {"id-token": "old", "client-id": "x"}}},
        },
    ]
    return choose([write(path, made)], "").user


def test_new_tokens_are_written_to_the_user_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "config"
    user = login(path)
    path.chmod(0o640)
    keep(user, id_token="new", refresh_token="next")
    written = yaml.safe_load(path.read_text())
    assert written["users"][1]["user"]["auth-provider"]["config"] == {
        "id-token": "new",
        "client-id": "x",
        "refresh-token": "next",
    }
    assert written["users"][0] == {"name": "other", "user": {"token": "t"}}
    assert written["clusters"] == content("https://one")["clusters"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_kubeconfig_stays_a_link(tmp_path: Path) -> None:
    login(tmp_path / "real")
    link = tmp_path / "link"
    link.symlink_to("real")
    keep(choose([link], "").user, id_token="new", refresh_token="next")
    assert link.is_symlink()
    assert "next" in (tmp_path / "real").read_text()


def test_a_file_that_kubectl_holds_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    user, before = login(path), path.read_text()
    (tmp_path / "config.lock").touch()
    with pytest.raises(ConfigError, match="cannot be locked"):
        keep(user, id_token="new", refresh_token="next")
    assert path.read_text() == before
    assert (tmp_path / "config.lock").exists()


@pytest.mark.parametrize("now", ["", "users: 5", "users: [{name: u, user: {}}]", "users: ["])
def test_a_file_that_has_changed_meanwhile_is_left_alone(tmp_path: Path, now: str) -> None:
    path = tmp_path / "config"
    user = login(path)
    path.write_text(now)
    with pytest.raises(ConfigError, match=f"kubeconfig {path}"):
        keep(user, id_token="new", refresh_token="next")
    assert path.read_text() == now
    assert list(tmp_path.iterdir()) == [path]
