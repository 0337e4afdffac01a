"""Structured calls through whole policies: hosts, files, MCP names and arguments that try to be something else."""
# ruff: noqa: E501 - tables, one row per line

from typing import Any

import pytest

from bot.policy.casefile import Case, run_case
from bot.policy.files import PolicySet


def kind(policies: PolicySet, policy: str, tool: str, args: dict[str, Any]) -> str:
    case = Case(id="x", policy=policy, tool=tool, args=args, expect="ask")
    return run_case(policies.policies, case).verdict.kind


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pass@api.github.com/", "https://api.github.com@evil.test/", "https://api.github.com:443@evil.test/",
        "http://api.github.com", "ftp://api.github.com/", "gopher://x/", "file:///etc/passwd", "javascript:alert(1)",
        "https://127.1/", "https://[::1]/", "https://0/", "https://10.0.0.5/", "https://metadata.google.internal/",
        "https://localhost./", "https://0x7f.1/", "https://017700000001/", "https://[::ffff:7f00:1]/", "https://[fd00::1]/",
        "https://169.254.169.254.nip.io/", "https://api.github.com\n.evil.test/", "https://api.github.com\t/",
    ],
    ids=ascii,
)  # fmt: skip
def test_urls_that_lead_elsewhere_are_refused(policies: PolicySet, url: str) -> None:
    assert kind(policies, "http-guard", "http_request", {"url": url, "method": "GET"}) == "deny"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.github.com/x",
        "HTTPS://API.GITHUB.COM/",
        "https://api.github.com:443/",
        "https://eu.status.example.com/",
    ],
)
def test_known_hosts_are_reached_unasked(policies: PolicySet, url: str) -> None:
    assert kind(policies, "http-guard", "http_request", {"url": url, "method": "GET"}) == "allow"


@pytest.mark.parametrize(
    ("url", "method"),
    [
        ("https://api.github.com.evil.test/", "GET"), ("https://evil.test/?u=https://api.github.com", "GET"),
        ("https://status.example.com/", "GET"), ("https://api.github.com:8443/", "GET"), ("https://api.github.com/", "POST"),
        ("https://api.github.com/", "get"), ("https://api.github.com/", ""), ("https://api.github.com/", None),
        ("https://api.github.com\\@evil.test/", "GET"), ("https://api.github.com%2eevil.test/", "GET"),
    ],
    ids=ascii,
)  # fmt: skip
def test_other_hosts_and_methods_are_never_allowed(policies: PolicySet, url: str, method: str | None) -> None:
    assert kind(policies, "http-guard", "http_request", {"url": url, "method": method}) != "allow"


@pytest.mark.parametrize(
    "tool",
    [
        "mcp:github/GET_ISSUE", "mcp:GitHub/get_issue", "mcp:github/get_issue/../delete_repo", "mcp:github2/get_x",
        "xmcp:github/get_issue", "mcp:github/xget_issue", "mcp:github/get_issue\n", "mcp:github/ get_issue",
        "mcp:github/gеt_issue", "get_issue", "mcp:evil/mcp:github/get_issue", "mcp:github/get_issue;x", "", "mcp:github/",
        "mcp:github/get_issue\u200b", "mcp:github/delete_repo",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_name_that_looks_like_an_allowed_tool_is_refused(policies: PolicySet, tool: str) -> None:
    assert kind(policies, "mcp", tool, {}) == "deny"


@pytest.mark.parametrize(
    "path",
    [
        "/srv/app/.git/config",
        "/srv/app/.git/hooks/x",
        "/root/.bashrc",
        "/etc/cron.d/x",
        "/etc/crontab",
        "/etc/systemd/system/x.service",
        "/srv/app/POLICY.yaml",
        "/srv/app/keys/authorized_keys",
        "/srv/link-to-etc/cron.d/x",
        "/srv/app/.env",
    ],
)
def test_files_that_run_or_rule_later_are_not_written(policies: PolicySet, path: str) -> None:
    assert kind(policies, "files", "write_file", {"path": path, "content": "x"}) == "deny"


P = "/srv/archive/2019"


@pytest.mark.parametrize(
    ("args", "expect"),
    [
        ({"path": P, "older_than_days": 365, "count": 50}, "allow"),
        ({"path": P, "older_than_days": 400, "count": 51}, "ask"),
        ({"path": P, "older_than_days": 400}, "ask"),
        ({"path": P, "older_than_days": float("inf"), "count": 1}, "ask"),
        ({"path": P, "older_than_days": 400, "count": float("nan")}, "ask"),
        ({"path": P, "older_than_days": 400, "count": {"gt": 1}}, "ask"),
        ({"path": P, "older_than_days": 400, "count": 1, "force": True}, "deny"),
        ({"path": "/srv/DB/x", "older_than_days": 400, "count": 1}, "deny"),
        ({"path": "/srv/link-to-etc", "older_than_days": 400, "count": 1}, "deny"),
        ({"path": "/srv", "older_than_days": 400, "count": 1}, "ask"),
    ],
)
def test_arguments_at_and_beyond_their_limits(policies: PolicySet, args: dict[str, Any], expect: str) -> None:
    assert kind(policies, "cleanup", "delete_files", args) == expect


@pytest.mark.parametrize(
    ("args", "expect"),
    [
        ({"command": "ls", "cwd": "/etc"}, "ask"),
        ({"command": "cat passwd", "cwd": "/srv/link-to-etc"}, "ask"),
        ({"command": "cat shadow", "cwd": "/srv/link-to-etc"}, "deny"),
        ({"command": "rm -rf .", "cwd": "/etc"}, "deny"),
        ({"command": "ls", "env": {"PATH": "x"}}, "deny"),
        ({"command": "ls", "timeout": "10"}, "ask"),
        ({"command": "ls", "timeout": 10}, "allow"),
        ({"command": None}, "deny"),
        ({"command": ""}, "ask"),
    ],
)
def test_arguments_around_a_command(policies: PolicySet, args: dict[str, Any], expect: str) -> None:
    assert kind(policies, "ops-basic", "execute", args) == expect
