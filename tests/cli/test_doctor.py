"""`askfirst doctor` against a real (local) Slack, a real SQLite file, real policies and a pretend model service."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bot.cli.doctor import Check, examine
from bot.domain.audit import AuditFact
from bot.playground.cast import ELSEWHERE, FORMER, GENERAL
from bot.playground.manifest import read_manifest
from bot.playground.workspace import Workspace
from bot.settings import load_settings
from bot.storage.statements import migrations
from bot.wiring import open_store, utc_now
from tests.cli.terminal import Terminal
from tests.fakes.anthropic_api import AnthropicApi, Call, Refuse, Reply

POLICY = """
version: 1
name: default
default: ask
channels: [{channel}]
groups: {{oncall: {{usergroup: {group}}}}}
approval: {{by: [oncall, {user}], expires: 15m}}
"""


def policy_file(
    folder: Path, *, channel: str = GENERAL, group: str = "S0ONCALL", user: str = "U0APPROVER"
) -> Path:
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(channel=channel, group=group, user=user), encoding="utf-8")
    return path


async def examined(folder: Path, slack: Workspace | None = None, /, **given: object) -> list[Check]:
    defaults: dict[str, object] = {
        "database": folder / "askfirst.db",
        "policies": folder / "policy.yaml",
        "workdir": folder,
        "sandbox": "none",
        "mcp_config": folder / ".mcp.json",
    }
    if slack is not None:
        defaults |= {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
        }
    return [check async for check in examine(load_settings(**defaults | given))]


def problems(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.said) for check in checks if check.status == "problem"]


def only_problem(checks: list[Check]) -> Check:
    (found,) = [check for check in checks if check.status == "problem"]
    assert found.fix
    return found


async def test_a_bot_that_is_set_up_well_has_no_problems(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack)
    assert problems(checks) == []
    said = {check.said for check in checks if check.status == "ok"}
    assert {
        "Socket Mode: Slack takes the app token",
        "all that manifest.yml asks for are granted",
        "C0GENERAL (#general): the bot is in it, the policy default governs it",
        "S0ONCALL (@oncall): 2 people",
        "U0APPROVER (@approver) can decide",
    } <= said


async def test_http_mode_needs_no_app_token_and_is_told_where_slack_must_post(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        given = {"SLACK_APP_TOKEN": None, "SLACK_SIGNING_SECRET": slack.signing_secret}
        checks = await examined(tmp_path, slack, **given)
    assert problems(checks) == []
    assert any(check.said.endswith("/slack/events") for check in checks)


async def test_a_signing_secret_that_cannot_be_one_is_a_warning(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack, SLACK_APP_TOKEN=None, SLACK_SIGNING_SECRET="short")
    assert any(check.status == "warning" and "SLACK_SIGNING_SECRET" in check.said for check in checks)


async def test_without_tokens_it_says_so_and_goes_on(tmp_path: Path) -> None:
    policy_file(tmp_path)
    checks = await examined(tmp_path)
    assert problems(checks) == []
    assert [(check.status, check.fix) for check in checks if check.name == "slack"] == [
        ("warning", "See docs/slack.md.")
    ]


async def test_a_wrong_bot_token_is_a_problem_and_nothing_else_is_asked_of_slack(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack, SLACK_BOT_TOKEN="xoxb-playground-wrong")
    assert "Slack does not know SLACK_BOT_TOKEN" in only_problem(checks).said
    assert "channel" not in {check.name for check in checks}
    assert "xoxb-playground-wrong" not in str(checks)


async def test_a_slack_that_cannot_be_reached_is_told_once_and_no_token_is_blamed(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack, SLACK_API_URL="http://127.0.0.1:1/api/")
    found = only_problem(checks)
    assert found.said.startswith("Slack could not be reached")
    assert "proxy" in found.fix


async def test_a_wrong_app_token_is_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack, SLACK_APP_TOKEN="xapp-playground-wrong")
    assert only_problem(checks).said == "Slack does not take SLACK_APP_TOKEN (invalid_auth)"


async def test_tokens_in_each_others_place_are_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        swapped = {"SLACK_BOT_TOKEN": slack.app_token, "SLACK_APP_TOKEN": slack.bot_token}
        checks = await examined(tmp_path, slack, **swapped)
    assert "mixed up" in only_problem(checks).said


async def test_a_scope_that_was_not_granted_is_named(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open(manifest=read_manifest().without("usergroups:read")) as slack:
        checks = await examined(tmp_path, slack)
    assert problems(checks) == [
        ("scopes", "missing: usergroups:read"),
        ("approvers", "S0ONCALL: a scope is missing to look it up"),
    ]


async def test_a_group_slack_does_not_know_is_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path, group="S0TYPO")
    async with Workspace.open() as slack:
        found = only_problem(await examined(tmp_path, slack))
    assert found.said == "Slack knows no user group S0TYPO: nobody in it can approve"


async def test_an_empty_group_is_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path)
    async with Workspace.open() as slack:
        slack.change_group()
        assert "nobody can approve" in only_problem(await examined(tmp_path, slack)).said


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("U0NOBODY", "Slack knows nobody with the id U0NOBODY"),
        (FORMER, "U0FORMER (@former) cannot decide: deactivated"),
    ],
)
async def test_an_approver_who_cannot_decide_is_a_problem(tmp_path: Path, user: str, said: str) -> None:
    policy_file(tmp_path, user=user)
    async with Workspace.open() as slack:
        assert only_problem(await examined(tmp_path, slack)).said == said


@pytest.mark.parametrize(
    ("channel", "said", "fix"),
    [
        (ELSEWHERE, "C0ELSEWHERE (#elsewhere): the bot is not in it", "Type /invite @askfirst there."),
        ("C0ARCHIVED", "C0ARCHIVED (#old-project) is archived", "remove the file"),
        ("C0MISSPELT", "C0MISSPELT: Slack knows no such channel", "into the policy default"),
    ],
)
async def test_a_channel_the_bot_cannot_work_in_is_a_problem(
    tmp_path: Path, channel: str, said: str, fix: str
) -> None:
    policy_file(tmp_path, channel=channel)
    async with Workspace.open() as slack:
        found = only_problem(await examined(tmp_path, slack))
    assert found.said.startswith(said)
    assert fix in found.fix


async def test_the_examples_that_come_along_are_a_warning_not_a_problem(tmp_path: Path) -> None:
    async with Workspace.open() as slack:
        checks = await examined(tmp_path, slack, policies=Path(__file__).parents[2] / "policies")
    assert problems(checks) == []
    assert [check.said for check in checks if check.name == "channel"] == [
        "production governs nothing: C0PROD, C0INFRA are invented ids, as in an example",
        "read-only governs nothing: C0LOOK is an invented id, as in an example",
    ]


async def test_a_broken_policy_is_told_once_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\ndefault: ask\naprovers: []\n", encoding="utf-8")
    async with Workspace.open() as slack:
        found = only_problem(await examined(tmp_path, slack))
    assert "policy.yaml:3:1: unknown key 'aprovers'" in found.said
    assert "askfirst policy check" in found.fix


async def test_a_policy_that_nobody_can_answer_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\ndefault: ask\n", encoding="utf-8")
    checks = await examined(tmp_path)
    assert any(check.status == "warning" and "nobody may approve" in check.said for check in checks)


async def test_a_database_that_is_not_there_yet_is_fine_and_stays_away(tmp_path: Path) -> None:
    policy_file(tmp_path)
    checks = await examined(tmp_path, database=tmp_path / "new/askfirst.db")
    assert problems(checks) == []
    assert not (tmp_path / "new").exists()


async def test_a_database_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path)
    (tmp_path / "file").touch()
    found = only_problem(await examined(tmp_path, database=tmp_path / "file/askfirst.db"))
    assert "is not a writable folder" in found.said
    found = only_problem(await examined(tmp_path, database=tmp_path))
    assert "is not a writable file" in found.said


async def test_a_file_that_is_no_database_is_a_problem(tmp_path: Path) -> None:
    policy_file(tmp_path)
    (tmp_path / "askfirst.db").write_text("not a database at all, but long enough\n" * 100, encoding="utf-8")
    assert "cannot be read" in only_problem(await examined(tmp_path)).said


@pytest.mark.parametrize(("newer_by", "status"), [(1, "problem"), (-1, "warning")])
async def test_a_database_of_another_version_is_left_as_it_is(
    tmp_path: Path, newer_by: int, status: str
) -> None:
    policy_file(tmp_path)
    version = migrations()[-1][0] + newer_by
    with sqlite3.connect(tmp_path / "askfirst.db") as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    checks = await examined(tmp_path)
    assert [check.status for check in checks if check.name == "database"] == [status]
    after = sqlite3.connect(tmp_path / "askfirst.db")
    assert after.execute("PRAGMA user_version").fetchone() == (version,)
    after.close()


async def test_a_changed_record_of_the_audit_log_is_a_problem(tmp_path: Path) -> None:
    settings = load_settings(database=tmp_path / "askfirst.db")
    async with open_store(settings) as store:
        await store.record(
            [AuditFact(kind="policy_loaded", at=utc_now(), run_id=None, body={"version": "1"})]
        )
    policy_file(tmp_path)
    assert any(check.said == "1 record, unbroken" for check in await examined(tmp_path))
    with sqlite3.connect(tmp_path / "askfirst.db") as connection:
        connection.execute('UPDATE audit SET body = \'{"version":"2"}\'')
    connection.close()
    assert only_problem(await examined(tmp_path)).name == "audit"


async def test_every_model_that_is_named_is_asked_for_one_answer(tmp_path: Path) -> None:
    text = policy_file(tmp_path).read_text(encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(f"{text}agent: {{model: claude-policy}}\n", encoding="utf-8")
    ready = Reply(Call("c1", "answer", {"ready": True}))
    async with AnthropicApi([ready, ready]) as api:
        given = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.url, "model": "claude-setting"}
        checks = await examined(tmp_path, **given)
        assert [body["model"] for body in api.bodies] == ["claude-policy", "claude-setting"]
    assert [check.said for check in checks if check.name == "model"] == [
        "claude-policy answers",
        "claude-setting answers",
    ]


@pytest.mark.parametrize(
    ("refusal", "status", "said"),
    [
        (Refuse(401, "authentication_error"), "problem", "check ANTHROPIC_API_KEY"),
        (Refuse(404, "not_found_error"), "problem", "does not exist"),
        (Refuse(529, "overloaded_error"), "warning", "overloaded"),
    ],
)
async def test_a_model_that_does_not_answer_is_told_apart_by_who_must_act(
    tmp_path: Path, refusal: Refuse, status: str, said: str
) -> None:
    policy_file(tmp_path)
    async with AnthropicApi([refusal]) as api:
        given = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.url}
        (check,) = [check for check in await examined(tmp_path, **given) if check.name == "model"]
    assert check.status == status
    assert said in check.said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"mcpServers": {"git": {}}}, "needs either a command or a url"),
        ({"mcpServers": {"git": {"command": "no-such-program"}}}, "there is no program 'no-such-program'"),
    ],
)
async def test_an_mcp_server_that_cannot_start_is_a_problem(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    policy_file(tmp_path)
    (tmp_path / ".mcp.json").write_text(json.dumps(config), encoding="utf-8")
    assert said in only_problem(await examined(tmp_path)).said


# The command


def test_the_command_prints_a_line_for_each_check_and_succeeds_with_warnings(terminal: Terminal) -> None:
    shown = terminal.types(command=("doctor",))
    assert terminal.code == 0
    assert "warning  model      the offline model answers" in shown
    assert shown.endswith("No problems, 3 warnings.\n")


def test_the_command_fails_if_there_is_a_problem(terminal: Terminal) -> None:
    shown = terminal.types(command=("doctor", "--dir", "nowhere"))
    assert terminal.code == 1
    assert shown.startswith("problem  settings   the working directory")
    assert "Fix: Create it" in shown
    assert "\n1 problem, " in shown


def test_settings_that_do_not_fit_are_a_problem_too(terminal: Terminal) -> None:
    terminal.patch.setenv("ASKFIRST_DRIFT_TOLERANCE", "lots")
    assert "ASKFIRST_DRIFT_TOLERANCE" in terminal.types(command=("doctor",))
    assert terminal.code == 1


def test_machines_get_json(terminal: Terminal) -> None:
    told = json.loads(terminal.types(command=("doctor", "--json")))
    assert told["ok"] is True
    assert {"name", "status", "said", "fix"} == set(told["checks"][0])
