"""MCP servers: two by other people, one of each protocol of ours, and all that can go wrong with them."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import ConfigError
from bot.domain.run import AgentSpec
from bot.domain.tool import Effects, Planned
from bot.engine.ports import CallContext, Resumed
from bot.tools.mcp.config import load
from bot.tools.mcp.servers import McpServers
from bot.tools.registry import Registry
from tests.tools.support import run

SERVERS = Path(__file__).parent / "servers"
BIN = Path(sys.executable).parent


def configured(
    tmp_path: Path, *, known: Path | None = None, start_seconds: float = 20, **servers: Any
) -> McpServers:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    config = load(file, {"TOKEN": "t0ken-of-mine"})
    return McpServers(config, known=known, start_seconds=start_seconds)


@asynccontextmanager
async def running(tmp_path: Path, **servers: Any) -> AsyncGenerator[Registry]:
    async with configured(tmp_path, **servers).running() as source:
        yield Registry([], sources=[source])


def older(cwd: Path, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", str(SERVERS / "older.py")], "cwd": str(cwd), **more}


MODERN = {"command": sys.executable, "args": [str(SERVERS / "modern.py")]}


def answered(context: CallContext, state: dict[str, Any], data: Any) -> CallContext:
    # Through JSON, as the store will do it.
    stored = json.loads(json.dumps(state))
    return replace(context, resumed=Resumed(state=stored, answer={"by": "U1", "data": data}))


# ── Servers by other people ──────────────────────────────────────────────────────────────────────────────


async def test_mcp_server_git_works_on_a_real_repository(tmp_path: Path, context: CallContext) -> None:
    repository = tmp_path / "repository"
    await _git("init", "-q", str(repository))
    (repository / "new.txt").write_text("x")
    server = {"command": str(BIN / "mcp-server-git"), "args": ["--repository", str(repository)]}
    async with running(tmp_path, git=server) as toolbox:
        names = [definition.name for definition in toolbox.definitions(AgentSpec(model="m"))]
        assert {"mcp:git/git_status", "mcp:git/git_log", "mcp:git/git_commit"} <= set(names)
        ran = await run(toolbox, context, "mcp:git/git_status", repo_path=str(repository))
        assert ran.status == "ok"
        assert "new.txt" in ran.text
        missing = toolbox.invalid(Planned(tool="mcp:git/git_status", args={}))
        assert missing == '"repo_path" is a required property'
        refused = await run(toolbox, context, "mcp:git/git_status", repo_path="/")
        assert refused.status == "error"


async def _git(*args: str) -> None:
    process = await asyncio.create_subprocess_exec("git", *args)
    assert await process.wait() == 0


async def test_mcp_server_time_tells_the_time(tmp_path: Path, context: CallContext) -> None:
    server = {"command": str(BIN / "mcp-server-time"), "args": ["--local-timezone", "UTC"]}
    async with running(tmp_path, time=server) as toolbox:
        ran = await run(
            toolbox,
            context,
            "mcp:time/convert_time",
            source_timezone="UTC",
            time="12:00",
            target_timezone="Asia/Tokyo",
        )
        assert '"time_difference": "+9.0h"' in ran.text
        wrong = await run(toolbox, context, "mcp:time/get_current_time", timezone="Mars/Olympus")
        assert wrong.status == "error"


# ── What is believed ─────────────────────────────────────────────────────────────────────────────────────


async def test_annotations_count_only_for_trusted_servers(tmp_path: Path) -> None:
    async with running(tmp_path, a=older(tmp_path), b=older(tmp_path, trusted=True)) as toolbox:
        stranger, friend = toolbox.definition("mcp:a/clean"), toolbox.definition("mcp:b/clean")
        assert stranger is not None
        assert friend is not None
        assert (stranger.trusted, stranger.effects) == (False, Effects())
        assert (friend.trusted, friend.effects.read_only, friend.effects.destructive) == (True, True, False)
        unsaid = toolbox.definition("mcp:b/exit")
        assert unsaid is not None
        assert unsaid.effects == Effects()


async def test_a_definition_that_changed_is_not_run(tmp_path: Path, context: CallContext) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        before = toolbox.definition("mcp:house/clean")
        (tmp_path / "renamed").touch()
        ran = await run(toolbox, context, "mcp:house/clean", room="kitchen")
        assert ran.text == (
            "Not run: the definition of mcp:house/clean changed since this call was judged. "
            "Propose it again if it still fits."
        )
        assert not (tmp_path / "calls").exists()
        after = toolbox.definition("mcp:house/clean")
        assert before is not None
        assert after is not None
        # The policy sees another fingerprint, so what was pinned or granted for the old one asks again.
        assert before.fingerprint != after.fingerprint
        assert (await run(toolbox, context, "mcp:house/clean", room="kitchen")).suspended


async def test_arguments_and_names_are_checked_before_anything_is_sent(tmp_path: Path) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        assert toolbox.invalid(Planned(tool="mcp:house/clean", args={"room": 7})) == (
            'room: 7 is not of type "string"'
        )
        assert toolbox.invalid(Planned(tool="mcp:house/clean", args={"room": "a", "force": True})) == (
            "force: the tool has no such argument"
        )
        names = [
            definition.name for definition in toolbox.definitions(AgentSpec(model="m", tools=("mcp:*",)))
        ]
        assert names == [f"mcp:house/{name}" for name in ("clean", "environment", "exit", "hang", "picture")]


async def test_a_server_sees_nothing_of_our_environment(
    tmp_path: Path, context: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-bot")
    server = older(tmp_path, env={"GREETING": "${TOKEN}", "OTHER": "${UNSET:-fallback}"})
    async with running(tmp_path, house=server) as toolbox:
        ran = await run(toolbox, context, "mcp:house/environment")
    environment = json.loads(ran.text)
    assert "ANTHROPIC_API_KEY" not in environment
    assert (environment["GREETING"], environment["OTHER"]) == ("t0ken-of-mine", "fallback")


async def test_what_is_not_text_is_summarised(tmp_path: Path, context: CallContext) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        ran = await run(toolbox, context, "mcp:house/picture")
    assert ran.text == "[image, image/png, 3 bytes, not shown]"


# ── What breaks ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_server_that_dies_in_a_call_is_told_and_started_again(
    tmp_path: Path, context: CallContext
) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        died = await run(toolbox, context, "mcp:house/exit")
        assert (died.status, died.text) == (
            "error",
            "The MCP server house stopped while exit was running. Whether it was done is not known.",
        )
        again = await run(toolbox, context, "mcp:house/picture")
        assert again.status == "ok"


async def test_a_server_that_keeps_dying_is_tried_less_and_less_often(
    tmp_path: Path, context: CallContext
) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        await run(toolbox, context, "mcp:house/exit")
        await run(toolbox, context, "mcp:house/exit")
        third = await run(toolbox, context, "mcp:house/exit")
        assert third.text == (
            "The MCP server house is not running: it keeps stopping; it will be tried again in 2 s."
        )
        assert toolbox.definition("mcp:house/exit") is not None


async def test_a_server_that_does_not_start_says_why_and_the_others_are_there(
    tmp_path: Path, context: CallContext
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "die").touch()
    nowhere = {"command": "/no/such/program"}
    async with running(
        tmp_path, good=older(tmp_path), bad=older(tmp_path / "bad"), nowhere=nowhere
    ) as toolbox:
        names = {definition.name.split("/")[0] for definition in toolbox.definitions(AgentSpec(model="m"))}
        assert names == {"mcp:good"}
        ran = await run(toolbox, context, "mcp:bad/clean", room="x")
        assert ran.text == (
            "Not run: The MCP server bad is not running: connection closed (no database, no service); "
            "it will be tried again in 1 s."
        )
        other = await run(toolbox, context, "mcp:nowhere/x")
        assert "/no/such/program was not found" in other.text
        unknown = await run(toolbox, context, "mcp:never-heard-of/x")
        assert unknown.text == "Not run: there is no tool called 'mcp:never-heard-of/x'"


async def test_a_server_that_stopped_while_idle_and_cannot_come_back_is_told(
    tmp_path: Path, context: CallContext
) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        await run(toolbox, context, "mcp:house/exit")
        (tmp_path / "die").touch()
        ran = await run(toolbox, context, "mcp:house/picture")
        assert ran.text == (
            "The MCP server house is not running: connection closed (no database, no service); "
            "it will be tried again in 2 s."
        )


async def test_a_call_that_hangs_is_stopped_and_the_server_is_of_use_again(
    tmp_path: Path, context: CallContext
) -> None:
    async with configured(tmp_path, start_seconds=1, house=older(tmp_path)).running() as source:
        hang = replace(source.tools()["mcp:house/hang"], seconds=0.3)
        ran = await run(Registry([hang]), context, "mcp:house/hang")
        assert ran.text.startswith("mcp:house/hang was stopped after 0.3 s, its time limit.")
        again = await run(Registry([], sources=[source]), context, "mcp:house/picture")
        assert again.status == "ok", again.text


async def test_a_server_whose_tools_are_known_is_not_started_before_it_is_needed(
    tmp_path: Path, context: CallContext
) -> None:
    known = tmp_path / "known.json"
    starts = tmp_path / "starts"
    async with configured(tmp_path, known=known, house=older(tmp_path)).running():
        assert starts.read_text() == "started\n"
    async with configured(tmp_path, known=known, house=older(tmp_path)).running() as source:
        toolbox = Registry([], sources=[source])
        assert toolbox.definition("mcp:house/clean") is not None
        assert starts.read_text() == "started\n"
        assert (await run(toolbox, context, "mcp:house/picture")).status == "ok"
        assert starts.read_text() == "started\n" * 2
    # Another configuration may be another server: it is asked again. So is one whose file was spoilt.
    async with configured(tmp_path, known=known, house=older(tmp_path, env={"A": "b"})).running():
        assert starts.read_text() == "started\n" * 3
    known.write_text("spoilt")
    async with configured(tmp_path, known=known, house=older(tmp_path)).running():
        assert starts.read_text() == "started\n" * 4


# ── Questions of a server ────────────────────────────────────────────────────────────────────────────────


async def test_questions_of_an_older_server_become_questions_to_people(
    tmp_path: Path, context: CallContext
) -> None:
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        first = (await run(toolbox, context, "mcp:house/clean", room="kitchen")).suspended
        assert first.question.text == "The server house asks: How dirty is the kitchen?"
        assert first.question.schema is not None
        assert first.question.schema["required"] == ["days"]

    # Another process, days later: nothing was kept but the state.
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        resumed = answered(context, first.state, {"days": 3})
        second = (await run(toolbox, resumed, "mcp:house/clean", room="kitchen")).suspended
        assert second.question.text == "The server house asks: Really?"
        resumed = answered(context, second.state, {"days": 4})
        ran = await run(toolbox, resumed, "mcp:house/clean", room="kitchen")
    assert (ran.status, ran.text) == ("ok", "kitchen cleaned after 4 days")
    # The price with older servers, as documented: each time from the beginning.
    assert (tmp_path / "calls").read_text() == "kitchen\n" * 3


async def test_a_question_whose_form_refers_elsewhere_is_not_asked(
    tmp_path: Path, context: CallContext
) -> None:
    (tmp_path / "evil").touch()
    async with running(tmp_path, house=older(tmp_path)) as toolbox:
        ran = await run(toolbox, context, "mcp:house/clean", room="kitchen")
    assert ran.status == "error"
    assert ran.text.startswith("not a valid JSON schema: ")


async def test_a_modern_server_goes_on_where_it_stopped(tmp_path: Path, context: CallContext) -> None:
    async with running(tmp_path, modern=MODERN) as toolbox:
        first = (await run(toolbox, context, "mcp:modern/keep", name="logs")).suspended
        assert first.question.text == "The server modern asks: How many days?"
        resumed = answered(context, first.state, {"days": 30})
        ran = await run(toolbox, resumed, "mcp:modern/keep", name="logs")
        assert (ran.status, ran.text) == ("ok", "logs kept for 30 days")


async def test_a_modern_server_that_was_restarted_gets_the_same_answer_again(
    tmp_path: Path, context: CallContext
) -> None:
    async with running(tmp_path, modern=MODERN) as toolbox:
        first = (await run(toolbox, context, "mcp:modern/keep", name="logs")).suspended
    async with running(tmp_path, modern=MODERN) as toolbox:
        resumed = answered(context, first.state, {"days": 30})
        ran = await run(toolbox, resumed, "mcp:modern/keep", name="logs")
        assert (ran.status, ran.text) == ("ok", "logs kept for 30 days")


# ── Streamable HTTP ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def url(anyio_backend: str) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = str(SERVERS / "modern.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, server, str(port), stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                await writer.wait_closed()
                break
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    await process.wait()


async def test_servers_over_http_work_the_same(tmp_path: Path, context: CallContext, url: str) -> None:
    remote = {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${TOKEN}"}}
    async with running(tmp_path, remote=remote) as toolbox:
        ran = await run(toolbox, context, "mcp:remote/add", a=2, b=3)
        assert (ran.status, ran.text) == ("ok", "5")
        first = (await run(toolbox, context, "mcp:remote/keep", name="logs")).suspended
        resumed = answered(context, first.state, {"days": 1})
        assert (await run(toolbox, resumed, "mcp:remote/keep", name="logs")).text == "logs kept for 1 days"


# ── The file ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "cannot be read"),
        ("{}", "mcpServers: Field required"),
        ('{"mcpServers": {"a": {}}}', "server 'a' needs either a command or a url"),
        ('{"mcpServers": {"a": {"command": "x", "url": "y"}}}', "server 'a' needs either a command or a url"),
        ('{"mcpServers": {"a/b": {"command": "x"}}}', "letters, digits, dots, dashes and underscores only"),
        ('{"mcpServers": {"a": {"command": "${X}"}}}', "mcpServers: a: command: the variable X is not set"),
        ('{"mcpServers": {"a": {"type": "sse", "url": "x"}}}', "mcpServers.a.type: Input should be"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load(file, {})
    assert problem in str(refused.value)


def test_keys_of_others_are_ignored_and_secrets_are_known(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    server = {"url": "https://x.test", "autoApprove": ["*"], "headers": {"Authorization": "Bearer ${TOKEN}"}}
    file.write_text(json.dumps({"mcpServers": {"a": server, "b": {"command": "x", "disabled": True}}}))
    config = load(file, {"TOKEN": "t0ken-of-mine"})
    assert list(config.servers) == ["a"]
    assert config.servers["a"].trusted is False
    assert config.secrets == ("Bearer t0ken-of-mine", "t0ken-of-mine")
    assert "t0ken" not in repr(config)
