"""`askfirst doctor`: looks at everything a bot needs, says what is wrong, and how to put it right.

Each check is a small function that yields what it found as values; nothing here changes anything. Later checks
use what earlier ones found out, so a broken policy or token is told once and not again by everything behind it.
"""

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from bot.cli import Commands
from bot.cli.paint import How, paint
from bot.domain.audit import GENESIS, chained
from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError, ModelUnavailable
from bot.domain.verdict import ApprovalTerms, Approvers
from bot.llm.anthropic import AnthropicModel
from bot.playground.manifest import DEFAULT as PACKAGED_MANIFEST
from bot.playground.manifest import read_manifest
from bot.policy.files import PolicyProblems, PolicySet, load
from bot.policy.lint import lint
from bot.policy.model import Policy
from bot.settings import Settings, load_settings
from bot.slack.people import standing
from bot.slack.tokens import Tokens, slack_tokens
from bot.slack.web import SlackFailed, Web, open_web
from bot.storage.statements import migrations
from bot.storage.store import SqlStore
from bot.tools.mcp.config import McpConfig
from bot.tools.mcp.config import load as load_mcp
from bot.tools.process.sandbox import find_sandbox
from bot.wiring import open_store, policy_paths

Status = Literal["ok", "warning", "problem"]
_COLOURS: dict[Status, How] = {"ok": "green", "warning": "yellow", "problem": "red"}
#: Enough to notice tampering within a second or two; `askfirst audit verify` reads all of them.
MOST_RECORDS = 50_000
_MODEL_SECONDS = 20.0
#: Letter and at least eight characters.
_SHORTEST_ID = 9
_SCOPES_FIX = "Add them under OAuth & Permissions (or paste manifest.yml again), then reinstall the app."
_ANSWER = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `fix` says what to do; empty if there is nothing to do."""

    name: str
    status: Status
    said: str
    fix: str = ""


def ok(name: str, said: str) -> Check:
    return Check(name=name, status="ok", said=said)


def warning(name: str, said: str, fix: str) -> Check:
    return Check(name=name, status="warning", said=said, fix=fix)


def problem(name: str, said: str, fix: str) -> Check:
    return Check(name=name, status="problem", said=said, fix=fix)


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "doctor",
        help="check tokens, scopes, channels, approvers, policy, database, sandbox and model",
        description="Look at everything the bot needs and say how to fix what is wrong. Changes nothing in Slack, and "
        "nothing in a SQLite file. Exit code 0: no problem (there may be warnings); 1: at least one problem.",
    )
    parser.add_argument("--dir", type=Path, dest="workdir", help="where the agent works (default: here)")
    parser.add_argument("--database", help="where runs are kept (default: .askfirst/askfirst.db)")
    parser.add_argument("--policies", type=Path, help="policy file or folder (default: policies)")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.set_defaults(run=run)


async def run(options: argparse.Namespace) -> int:
    found: list[Check] = []
    async for check in _everything(options):
        found.append(check)
        if not options.json:
            # One by one: Slack and the model may take seconds to answer.
            print(_line(check), flush=True)
    bad = sum(check.status == "problem" for check in found)
    warned = sum(check.status == "warning" for check in found)
    if options.json:
        print(json.dumps({"ok": not bad, "checks": [asdict(check) for check in found]}, ensure_ascii=False))
    else:
        print(f"\n{_counted(bad, 'problem')}, {_counted(warned, 'warning')}.".replace(", No", ", no"))
    return int(bad > 0)


def _line(check: Check) -> str:
    first = f"{paint(f'{check.status:<8}', _COLOURS[check.status])} {check.name:<10} {check.said}"
    return f"{first}\n{' ' * 20}{paint(f'Fix: {check.fix}', 'dim')}" if check.fix else first


def _counted(count: int, noun: str) -> str:
    return f"{count or 'No'} {noun}{'s' * (count != 1)}"


async def _everything(options: argparse.Namespace) -> AsyncGenerator[Check]:
    given = {"workdir": options.workdir, "database": options.database, "policies": options.policies}
    try:
        settings = load_settings(**given)
    except ConfigError as error:
        yield problem(
            "settings", " ".join(str(error).split()), "Correct these lines in .env or the environment."
        )
        return
    async for check in examine(settings):
        yield check


async def examine(settings: Settings) -> AsyncGenerator[Check]:
    """Yield every check, in the order in which people should fix what they say."""
    for check in check_workdir(settings):
        yield check
    policies, checks = check_policies(settings)
    for check in checks:
        yield check
    async for check in check_database(settings):
        yield check
    yield await check_sandbox(settings)
    async for check in check_model(settings, policies):
        yield check
    for check in check_mcp(settings):
        yield check
    async for check in check_slack(settings, policies):
        yield check


# This machine


def check_workdir(settings: Settings) -> Iterator[Check]:
    where = settings.workdir.resolve()
    fix = "Create it, or name another one with --dir or ASKFIRST_WORKDIR."
    if not where.is_dir():
        yield problem("settings", f"the working directory {where} does not exist", fix)
    elif not os.access(where, os.W_OK):
        yield warning("settings", f"agents can read {where}, but not write in it", fix)
    else:
        yield ok("settings", f"readable; agents work in {where}")


def check_policies(settings: Settings) -> tuple[PolicySet | None, list[Check]]:
    """Load the policies as `askfirst run` would, and say what lint says about them."""
    paths = policy_paths(settings)
    try:
        policies = load(*paths)
    except PolicyProblems as error:
        rest = len(error.problems) - 1
        more = f" (and {rest} more)" if rest else ""
        fix = f"Correct the file; `askfirst policy check {paths[0]}` shows every problem with its line."
        return None, [problem("policy", f"{error.problems[0]}{more}", fix)]
    except (ConfigError, OSError) as error:
        return None, [
            problem("policy", str(error), "Name a policy file with --policies or ASKFIRST_POLICIES.")
        ]
    return policies, [_policy(name, policy) for name, policy in policies.policies.items()]


def _policy(name: str, policy: Policy) -> Check:
    serious = [finding.message for finding in lint(policy) if finding.level == "warning"]
    if serious:
        rest = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        return warning("policy", f"{name}: {serious[0]}{rest}", "`askfirst policy check` shows where.")
    return ok("policy", f"{name}: {len(policy.rules)} rules, {len(policy.tests)} tests passed")


async def check_database(settings: Settings) -> AsyncGenerator[Check]:
    if "://" not in settings.database:
        before = await asyncio.to_thread(_sqlite, Path(settings.database))
        yield before
        if before.status != "ok" or not await asyncio.to_thread(Path(settings.database).exists):
            return
    try:
        async with open_store(settings) as store:
            if "://" in settings.database:
                yield ok("database", "PostgreSQL answers, and its schema is the newest")
            yield await _audit(store)
    except ConfigError as error:
        yield problem("database", str(error), "See docs/operating.md.")


def _sqlite(path: Path) -> Check:
    """Look at the file without changing it: opening it as the bot does would create or upgrade it."""
    folder = next(each for each in path.absolute().parents if each.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return problem("database", f"{path} cannot be written: {folder} is not a writable folder", _ELSEWHERE)
    if not path.exists():
        return ok("database", f"{path} will be created at the first start")
    if not path.is_file() or not os.access(path, os.W_OK):
        return problem("database", f"{path} is not a writable file", _ELSEWHERE)
    try:
        return _schema(path, _version(path), migrations()[-1][0])
    except sqlite3.DatabaseError as error:
        return problem("database", f"{path} cannot be read: {error}", _ELSEWHERE)


def _version(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def _schema(path: Path, version: int, newest: int) -> Check:
    if version > newest:
        fix = "Upgrade Askfirst, or restore the backup made before the upgrade."
        return problem("database", f"{path} was written by a newer Askfirst (schema {version})", fix)
    if version < newest:
        fix = "Nothing to do: the next start upgrades it. Copy it first (docs/operating.md)."
        return warning("database", f"{path} has schema {version}, this Askfirst has {newest}", fix)
    return ok("database", f"{path} is writable, schema {version}")


_ELSEWHERE = "Give the bot's user write access, or set ASKFIRST_DATABASE to another place."


async def _audit(store: SqlStore) -> Check:
    previous, count = GENESIS, 0
    async for record, at, body in store.audit():
        count += 1
        fact = record.fact
        expected = chained(previous, seq=record.seq, kind=fact.kind, at_us=at, run_id=fact.run_id, body=body)
        if record.seq != count or record.hash != expected:
            fix = "Somebody or something wrote to the database past the bot. Compare with a backup."
            return problem(
                "audit", f"broken at record {count}: it, or one before it, was changed or removed", fix
            )
        previous = record.hash
        if count == MOST_RECORDS:
            return ok("audit", f"the first {count} records are unbroken; `askfirst audit verify` reads all")
    return ok("audit", f"{_counted(count, 'record')}, unbroken")


async def check_sandbox(settings: Settings) -> Check:
    try:
        sandbox = await find_sandbox(settings.sandbox)
    except ConfigError as error:
        return problem("sandbox", str(error), "Install bubblewrap, or set ASKFIRST_SANDBOX=auto.")
    if sandbox.warning:
        fix = (
            "Install bubblewrap (or a newer kernel). ASKFIRST_SANDBOX=required refuses to start without one."
        )
        return warning("sandbox", sandbox.warning, fix)
    return ok("sandbox", f"{sandbox.kind} works here")


async def check_model(settings: Settings, policies: PolicySet | None) -> AsyncGenerator[Check]:
    if settings.anthropic_api_key is None:
        yield warning(
            "model", "the offline model answers, with a few fixed phrases", "Set ANTHROPIC_API_KEY."
        )
        return
    wanted = {settings.model, settings.scope_model or settings.model}
    for policy in policies.policies.values() if policies else ():
        if policy.agent and policy.agent.model:
            wanted.add(policy.agent.model)
    key = settings.anthropic_api_key.get_secret_value()
    try:
        async with AnthropicModel(api_key=key, base_url=settings.anthropic_base_url) as model:
            for name in sorted(wanted):
                yield await _model(model, name)
    except ConfigError as error:
        yield problem(
            "model", str(error), "Set ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL as your account says."
        )


async def _model(model: AnthropicModel, name: str) -> Check:
    try:
        await model.structured(
            model=name,
            system="This is a check of the connection.",
            prompt="Answer that you are ready.",
            schema=_ANSWER,
            within=_MODEL_SECONDS,
            max_tokens=64,
        )
    except ConfigError as error:
        return problem(
            "model", str(error), "Set ANTHROPIC_API_KEY and ASKFIRST_MODEL (or `agent.model`) in line."
        )
    except ModelUnavailable as error:
        return warning("model", f"{name}: {error}", "Check the network, then try again.")
    return ok("model", f"{name} answers")


def check_mcp(settings: Settings) -> Iterator[Check]:
    if not settings.mcp_config.exists():
        yield ok("mcp", f"no {settings.mcp_config}: no MCP servers")
        return
    try:
        config = load_mcp(settings.mcp_config, os.environ)
    except ConfigError as error:
        yield problem("mcp", str(error), f"Correct {settings.mcp_config}; docs/tools.md has an example.")
        return
    yield from _servers(config)


def _servers(config: McpConfig) -> Iterator[Check]:
    for name, server in config.servers.items():
        if server.command is not None and shutil.which(server.command) is None:
            yield problem(
                "mcp", f"{name}: there is no program {server.command!r}", "Install it, or name its path."
            )
        else:
            yield ok(
                "mcp", f"{name}: {'a command' if server.command else 'an address'}; starts when it is used"
            )


# Slack


async def check_slack(settings: Settings, policies: PolicySet | None) -> AsyncGenerator[Check]:
    if not (settings.slack_bot_token or settings.slack_app_token or settings.slack_signing_secret):
        yield warning("slack", "no tokens are set; `askfirst chat` works without", "See docs/slack.md.")
        return
    try:
        tokens = slack_tokens(settings)
    except ConfigError as error:
        yield problem("slack", str(error), "Put the tokens into .env; docs/slack.md says where they are.")
        return
    async with open_web(tokens.bot, settings.slack_api_url) as web:
        try:
            me = await web.identity()
        except ConfigError as error:
            if isinstance(error.__cause__, SlackFailed) and error.__cause__.may_have_happened:
                yield problem("slack", str(error), "Behind a proxy, set HTTPS_PROXY.")
                return
            yield problem("slack", str(error), "Put the right token into .env as SLACK_BOT_TOKEN.")
            yield await _incoming(settings, tokens)
            return
        yield await _incoming(settings, tokens)
        yield ok("slack", f"the bot is in {me.url}")
        yield await _scopes(web)
        if policies is not None:
            async for check in _named(web, me.team, policies):
                yield check


async def _incoming(settings: Settings, tokens: Tokens) -> Check:
    if tokens.secret:
        if len(tokens.secret) != 32:
            fix = "Copy it from Basic Information, App Credentials, Signing Secret."
            return warning("slack", "SLACK_SIGNING_SECRET does not look like one (32 characters)", fix)
        where = f"http://{settings.slack_host}:{settings.slack_port}/slack/events"
        return ok("slack", f"HTTP mode: Slack must be able to reach {where}")
    async with open_web(tokens.app, settings.slack_api_url) as web:
        try:
            await web.call("apps.connections.open")
        except SlackFailed as failed:
            fix = "Create one under Basic Information, App-Level Tokens, with the scope connections:write."
            return problem("slack", f"Slack does not take SLACK_APP_TOKEN ({failed.code})", fix)
    return ok("slack", "Socket Mode: Slack takes the app token")


async def _scopes(web: Web) -> Check:
    manifest = next((path for path in (Path("manifest.yml"), PACKAGED_MANIFEST) if path.exists()), None)
    if manifest is None:
        return warning(
            "scopes", "there is no manifest.yml here to compare with", "Run this where manifest.yml is."
        )
    try:
        # Only the headers of an answer name the scopes; `Web` hands out bodies.
        told: Any = await web.client.api_call("auth.test")  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # noqa: BLE001 - Slack's errors are known behind the door of bot/slack only
        return warning("scopes", f"Slack did not say ({type(error).__name__})", "Try again in a minute.")
    headers = {str(name).lower(): str(value) for name, value in told.headers.items()}
    granted = {scope.strip() for scope in headers.get("x-oauth-scopes", "").split(",")}
    missing = sorted((await asyncio.to_thread(read_manifest, manifest)).scopes - granted)
    if missing:
        return problem("scopes", f"missing: {', '.join(missing)}", _SCOPES_FIX)
    return ok("scopes", "all that manifest.yml asks for are granted")


async def _named(web: Web, team: str, policies: PolicySet) -> AsyncGenerator[Check]:
    """Look up everybody and every place that policies name."""
    people: list[Approvers] = []
    for policy in policies.policies.values():
        found = {channel: await _looked_up(web, channel) for channel in policy.channels}
        if _is_example(found):
            are = "are invented ids" if len(found) > 1 else "is an invented id"
            said = f"{policy.name} governs nothing: {', '.join(found)} {are}, as in an example"
            yield warning("channel", said, "Put in your own ids, or remove the file.")
            continue
        for channel, told in found.items():
            yield _channel(policy, channel, told)
        people += _approvers(policy)
    groups = dict.fromkeys(group for each in people for group in each.groups)
    if groups:
        for check in await _groups(web, groups):
            yield check
    for user in dict.fromkeys(user for each in people for user in each.users):
        yield await _user(web, team, user)


async def _looked_up(web: Web, channel: str) -> JsonObject | SlackFailed:
    try:
        return (await web.read("conversations.info", channel=channel))["channel"]
    except SlackFailed as failed:
        return failed


def _is_example(found: Mapping[str, JsonObject | SlackFailed]) -> bool:
    """Whether these ids cannot be meant for Slack, whose own are longer; a misspelt one is not forgiven."""
    return bool(found) and all(
        isinstance(told, SlackFailed) and told.code == "channel_not_found" and len(channel) < _SHORTEST_ID
        for channel, told in found.items()
    )


def _approvers(policy: Policy) -> Iterator[Approvers]:
    yield from policy.groups.values()
    for layer in policy.layers:
        for terms in (layer.default_terms, *(rule.ask for rule in layer.rules)):
            if terms is not None:
                yield from _of_terms(terms.terms)
    if policy.clarify is not None:
        yield policy.clarify.by


def _of_terms(terms: ApprovalTerms) -> Iterator[Approvers]:
    yield terms.approvers
    if terms.escalate is not None:
        yield terms.escalate.to


def _channel(policy: Policy, channel: str, told: JsonObject | SlackFailed) -> Check:
    fix = f"Put the channel's id (C…, at the end of its About tab) into the policy {policy.name}, or remove the file."
    if isinstance(told, SlackFailed):
        if told.code == "channel_not_found":
            said = f"{channel}: Slack knows no such channel, or it is private and the bot is not in it"
            return problem("channel", said, fix)
        return _unanswered("channel", channel, told)
    name = f"{channel} (#{told.get('name', '')})"
    if told.get("is_archived"):
        return problem("channel", f"{name} is archived", fix)
    if not told.get("is_member"):
        return problem("channel", f"{name}: the bot is not in it", "Type /invite @askfirst there.")
    return ok("channel", f"{name}: the bot is in it, the policy {policy.name} governs it")


async def _groups(web: Web, wanted: Iterable[str]) -> list[Check]:
    try:
        told = await web.read("usergroups.list", include_users=True)
    except SlackFailed as failed:
        return [_unanswered("approvers", ", ".join(wanted), failed)]
    known = {group["id"]: group for group in told["usergroups"]}
    return [_group(name, known.get(name)) for name in wanted]


def _group(name: str, group: dict[str, Any] | None) -> Check:
    if group is None:
        fix = "Put the group's id (S…) into `groups` of the policy; `Copy group ID` is in its ⋮ menu."
        return problem("approvers", f"Slack knows no user group {name}: nobody in it can approve", fix)
    handle, members = f"{name} (@{group.get('handle', '')})", len(group.get("users", ()))
    if not members:
        return problem("approvers", f"{handle} is empty: nobody can approve", "Add people to it in Slack.")
    return ok("approvers", f"{handle}: {members} {'person' if members == 1 else 'people'}")


async def _user(web: Web, team: str, user: str) -> Check:
    fix = "Put the id of a member (U…, `Copy member ID` in the profile's ⋮ menu) into the policy."
    try:
        told = (await web.read("users.info", user=user))["user"]
    except SlackFailed as failed:
        if failed.code == "user_not_found":
            return problem("approvers", f"Slack knows nobody with the id {user}", fix)
        return _unanswered("approvers", user, failed)
    kind = standing(told, team)
    if kind != "member":
        return problem("approvers", f"{user} (@{told.get('name', '')}) cannot decide: {kind}", fix)
    return ok("approvers", f"{user} (@{told.get('name', '')}) can decide")


def _unanswered(name: str, what: str, failed: SlackFailed) -> Check:
    if failed.code == "missing_scope":
        return problem(name, f"{what}: a scope is missing to look it up", _SCOPES_FIX)
    return warning(name, f"{what}: Slack answered {failed.code}", "Try again in a minute.")
