"""The shell: tokens, signatures, sockets, the manifest, `askfirst run`."""

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from aiohttp import ClientSession

from bot.domain.errors import ConfigError
from bot.llm.scripted import say
from bot.playground.http_events import sign
from bot.playground.manifest import read_manifest
from bot.playground.methods.registry import METHODS
from bot.playground.workspace import Workspace
from bot.settings import load_settings
from bot.slack import http, socket
from bot.slack.routes import EVENTS
from bot.slack.tokens import slack_tokens
from bot.wiring import open_slack
from tests.slack.lab import Lab

BOT, APP, SECRET = "xoxb-playground-1", "xapp-playground-1", "s3cret"


# Tokens.


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "SLACK_BOT_TOKEN is not set"),
        ({"SLACK_BOT_TOKEN": APP, "SLACK_APP_TOKEN": BOT}, "mixed up"),
        ({"SLACK_BOT_TOKEN": APP}, "mixed up"),
        ({"SLACK_BOT_TOKEN": "xoxp-user"}, "SLACK_BOT_TOKEN is not a bot token"),
        ({"SLACK_BOT_TOKEN": BOT}, "SLACK_APP_TOKEN is not set"),
        ({"SLACK_BOT_TOKEN": BOT, "SLACK_APP_TOKEN": BOT}, "SLACK_APP_TOKEN is not an app-level token"),
    ],
)
def test_a_token_problem_says_what_to_do_and_never_repeats_the_token(
    given: dict[str, str], told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        slack_tokens(load_settings(**given))
    for token in given.values():
        assert token not in str(refused.value)


def test_socket_mode_is_the_default_and_a_signing_secret_alone_means_http() -> None:
    both = load_settings(SLACK_BOT_TOKEN=BOT, SLACK_APP_TOKEN=APP, SLACK_SIGNING_SECRET=SECRET)
    assert slack_tokens(both).secret == ""
    alone = load_settings(SLACK_BOT_TOKEN=BOT, SLACK_SIGNING_SECRET=SECRET)
    assert slack_tokens(alone).secret == SECRET


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_tokens_that_slack_does_not_know_stop_the_start(lab: Lab, slack: Workspace) -> None:
    good = lab.settings()
    for name, told in (("slack_bot_token", "SLACK_BOT_TOKEN"), ("slack_app_token", "SLACK_APP_TOKEN")):
        secret = type(good.slack_bot_token)  # SecretStr
        prefix = "xoxb" if "bot" in name else "xapp"
        wrong = good.model_copy(update={name: secret(f"{prefix}-playground-wrong")})  # pyright: ignore[reportCallIssue]
        with pytest.raises(ConfigError, match=told):
            async with open_slack(wrong):
                pytest.fail("started")


# HTTP mode.


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"X-Slack-Signature": "v0=00"}, id="wrong signature"),
        pytest.param({"X-Slack-Signature": ""}, id="no signature"),
        pytest.param({"X-Slack-Signature": "v0=ü"}, id="not ASCII"),
        pytest.param({"X-Slack-Request-Timestamp": "soon"}, id="malformed time"),
        pytest.param({"X-Slack-Request-Timestamp": "٣"}, id="Arabic digits"),
        pytest.param({"X-Slack-Request-Timestamp": ""}, id="no time"),
    ],
)
@pytest.mark.parametrize("transport", ["http"], indirect=True)
async def test_requests_that_slack_did_not_sign_are_refused(
    lab: Lab, slack: Workspace, changed: dict[str, str]
) -> None:
    headers = sign(slack.signing_secret, str(int(time.time())), EVENT) | changed
    async with lab.bot([]) as running, ClientSession() as session:
        async with session.post(running.bot.address, data=EVENT, headers=headers) as response:
            assert response.status == 401
        assert await running.heads() == ()


EVENT = '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}'


@pytest.mark.parametrize("transport", ["http"], indirect=True)
async def test_an_old_request_may_be_a_replay_and_is_refused(lab: Lab, slack: Workspace) -> None:
    headers = sign(slack.signing_secret, str(int(time.time()) - 301), EVENT)
    async with (
        lab.bot([]) as running,
        ClientSession() as session,
        session.post(running.bot.address, data=EVENT, headers=headers) as response,
    ):
        assert response.status == 401


def test_the_signature_covers_time_and_body() -> None:
    headers = sign(SECRET, "1000", "body")
    signature = headers["X-Slack-Signature"]
    assert http.signed(SECRET, "1000", b"body", signature, now=1000)
    assert not http.signed(SECRET, "1001", b"body", signature, now=1000)
    assert not http.signed(SECRET, "1000", b"bodY", signature, now=1000)
    assert not http.signed("other", "1000", b"body", signature, now=1000)


# Socket Mode.


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_two_sockets_are_open_and_a_refresh_of_one_is_no_gap(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([say("one"), say("two")]) as running:
        await slack.connected(2)
        assert running.bot.sockets is not None
        assert await running.bot.sockets.healthy() == 2
        slack.sockets.disconnect("refresh_requested")
        asked = await slack.requester.mentions_bot("in between")
        await asked.thread.message_containing("one")
        await slack.until(lambda: slack.sockets.count == 2, "both sockets again")
        again = await slack.requester.mentions_bot("after it")
        await again.thread.message_containing("two")


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_the_watchdog_replaces_a_connection_that_hears_nothing(
    lab: Lab, slack: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(socket, "DEAF_SECONDS", 0.0)
    async with lab.bot([say("Still here.")]):
        await slack.until(lambda: slack.sockets.opened >= 4, "both to be replaced")
        monkeypatch.setattr(socket, "DEAF_SECONDS", 900.0)
        asked = await slack.requester.mentions_bot("are you there?")
        await asked.thread.message_containing("Still here.")


# What the app asks Slack for.

_CALLED = re.compile(r"""\.(?:call|read|_answered)\(\s*"([a-z]+\.[A-Za-z.]+)""")


def _used() -> set[str]:
    folder = Path(__file__).parents[2] / "bot" / "slack"
    return {
        name for file in folder.rglob("*.py") for name in _CALLED.findall(file.read_text(encoding="utf-8"))
    }


def test_the_manifest_asks_for_what_the_code_uses_and_for_nothing_else() -> None:
    manifest = read_manifest()
    used = _used()
    assert {"chat.postMessage", "chat.update", "users.info", "views.open", "auth.test"} <= used
    kinds = {"channels", "groups", "im"}
    scopes: set[str] = set()
    for method in used:
        scope = METHODS[method].scope
        if scope is not None:
            scopes |= {f"{kind}{scope[1:]}" for kind in kinds} if scope.startswith("*") else {scope}
    # Not methods, but what events and the command need.
    scopes |= {"app_mentions:read", "commands", "assistant:write", *(f"{kind}:history" for kind in kinds)}
    assert scopes == manifest.scopes


def test_the_manifest_subscribes_to_the_events_the_code_handles() -> None:
    subscribed = {name.partition(".")[0] for name in read_manifest().events}
    assert subscribed == set(EVENTS)


# The command.


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_askfirst_run_answers_in_slack_and_stops_in_good_order(lab: Lab, slack: Workspace) -> None:
    settings = await asyncio.to_thread(lab.settings)
    environment = {
        **os.environ,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ASKFIRST_DATABASE": str(settings.database),
        "ASKFIRST_WORKDIR": str(lab.folder),
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "run", env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        greeting = (await process.stdout.readline()).decode()
        assert "connected by Socket Mode" in greeting
        asked = await slack.requester.mentions_bot("hello")
        await slack.until(lambda: len(asked.thread.messages) > 1, "an answer")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_a_missing_token_is_a_message_and_exit_code_two(lab: Lab) -> None:
    environment = {"PATH": os.environ["PATH"], "ASKFIRST_DATABASE": str(lab.folder / "db")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "run", env=environment, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert "SLACK_BOT_TOKEN is not set" in errors.decode()
