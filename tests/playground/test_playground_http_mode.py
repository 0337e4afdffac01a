"""Events over signed HTTP, checked by `slack_sdk`'s verifier and by a server that misbehaves on purpose."""

import json
from collections.abc import AsyncGenerator, Callable
from urllib.parse import parse_qs

import pytest
from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

from bot.playground.errors import PlaygroundError, Unsafe
from bot.playground.workspace import Workspace
from tests.playground.support import CARD, Client, Connect, sample_app

Answer = Callable[[int], web.Response]


class Endpoint:
    """An app's request URL; `answer` is asked for each request, counted from 0."""

    def __init__(self, slack: Workspace) -> None:
        self._slack = slack
        self.url = ""
        self.received: list[tuple[dict[str, str], str]] = []
        self.answer: Answer = lambda _number: web.Response()

    async def serve(self, request: web.Request) -> web.Response:
        body = await request.text()
        if "url_verification" in body:
            return web.json_response({"challenge": json.loads(body)["challenge"]})
        self.received.append((dict(request.headers), body))
        self._slack.nudge()
        return self.answer(len(self.received) - 1)

    @property
    def retries(self) -> list[tuple[str | None, str | None]]:
        return [
            (headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason"))
            for headers, _ in self.received
        ]


@pytest.fixture
async def endpoint(slack: Workspace) -> AsyncGenerator[Endpoint]:
    found = Endpoint(slack)
    app = web.Application()
    app.router.add_post("/slack/events", found.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    await slack.deliver_to(found.url)
    yield found
    await runner.cleanup()


async def test_slacks_verifier_accepts_our_signature_and_no_other(
    slack: Workspace, endpoint: Endpoint
) -> None:
    await slack.requester.says("hi")
    await slack.settle()
    ((headers, body),) = endpoint.received
    assert SignatureVerifier(slack.signing_secret).is_valid_request(body, headers)
    assert not SignatureVerifier(slack.signing_secret).is_valid_request(body + " ", headers)
    assert not SignatureVerifier("another secret").is_valid_request(body, headers)


async def test_each_kind_has_its_own_encoding(slack: Workspace, client: Client, endpoint: Endpoint) -> None:
    await client.chat_postMessage(channel=slack.general.id, text="x", blocks=CARD)
    await slack.settle()
    card = await slack.general.card_with("Approve")
    await slack.approver.clicks("Approve", in_=card)
    await slack.approver.runs("/askfirst now")
    event, click, command = (body for _, body in endpoint.received)
    assert json.loads(event)["type"] == "event_callback"
    assert json.loads(parse_qs(click)["payload"][0])["type"] == "block_actions"
    assert parse_qs(command)["command"] == ["/askfirst"]
    assert [headers["Content-Type"] for headers, _ in endpoint.received] == [
        "application/json",
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded",
    ]


async def test_an_error_is_retried_at_once_then_after_one_and_five_minutes(
    slack: Workspace, endpoint: Endpoint
) -> None:
    endpoint.answer = lambda _number: web.Response(status=500)
    await slack.requester.says("hi")
    await slack.until(lambda: len(endpoint.received) == 2, "the first retry")
    for wait, total in [(59, 2), (1, 3), (299, 3), (1, 4), (10_000, 4)]:
        await slack.settle()
        await slack.advance(wait)
        await slack.until(lambda n=total: len(endpoint.received) == n, f"{total} requests")
    assert endpoint.retries == [(None, None), *((str(n), "http_error") for n in (1, 2, 3))]


async def test_no_retry_is_honoured(slack: Workspace, endpoint: Endpoint) -> None:
    endpoint.answer = lambda _number: web.Response(status=500, headers={"X-Slack-No-Retry": "1"})
    await slack.requester.says("hi")
    await slack.settle()
    await slack.advance(10_000)
    assert endpoint.retries == [(None, None)]


async def test_a_redirect_is_not_followed(slack: Workspace, endpoint: Endpoint) -> None:
    endpoint.answer = lambda number: (
        web.Response(status=302, headers={"Location": "https://slack.com/"})
        if number == 0
        else web.Response()
    )
    await slack.requester.says("hi")
    await slack.until(lambda: len(endpoint.received) == 2, "a retry")
    assert endpoint.retries[1] == ("1", "http_error")


async def test_an_app_that_is_down_is_retried(slack: Workspace, endpoint: Endpoint) -> None:
    await slack.deliver_to("http://127.0.0.1:1/nobody", verify=False)
    await slack.requester.says("hi")
    await slack.until(lambda: "connection_failed" in str(slack.transcript), "a failure")
    await slack.settle()
    await slack.deliver_to(endpoint.url)
    await slack.advance(60)
    await slack.until(lambda: endpoint.received, "the retry")
    assert endpoint.retries == [("2", "connection_failed")]


@pytest.mark.parametrize("transport", ["http"], indirect=True)
async def test_bolt_refuses_a_request_whose_clock_is_six_minutes_off(
    slack: Workspace, app: AsyncApp, connect: Connect
) -> None:
    await connect(sample_app(app))
    slack.faults.clock_skew = -360
    await slack.requester.mentions_bot("hi")
    await slack.until(lambda: "http_error" in str(slack.transcript), "a refusal")
    assert slack.general.messages[-1].user == slack.requester.id


async def test_an_app_that_does_not_return_the_challenge_is_not_used(slack: Workspace) -> None:
    with pytest.raises(PlaygroundError, match="challenge"):
        await slack.deliver_to(f"{slack.url}/api/auth.test")


@pytest.mark.parametrize(
    "url", ["https://slack.com/api/", "http://example.com/slack/events", "http://10.0.0.1/"]
)
async def test_nothing_is_sent_off_this_machine(slack: Workspace, url: str) -> None:
    with pytest.raises(Unsafe):
        await slack.deliver_to(url)
