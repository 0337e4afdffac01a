"""The real `@ag-ui/client` asks, is interrupted, and resumes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.verdict import ApprovalTerms
from bot.engine.ports import ModelRequest
from bot.llm.scripted import Step, call, calls, say, tool_call
from bot.wiring import utc_now
from tests.api.node import installed, node
from tests.api.server import Bench, bench
from tests.engine.lab import Clock
from tests.engine.tools import marks
from tests.fakes.policies import ANN_OR_BOB, TablePolicy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


class RealClock(Clock):
    """The client checks expiry with its own clock, so the server's must be near it."""

    def __init__(self) -> None:
        super().__init__(utc_now())


async def drive(api: Bench, scenario: str) -> Any:
    secret = await api.token("ann")
    return json.loads(await node(installed("client"), "drive.mjs", api.url, secret, scenario))


def asks(target: Path, *then: Step) -> list[Step]:
    return [call("mark", {"path": str(target), "count": 2}, text="I will. "), *(then or (say("Done."),))]


ANN_ASKS = TablePolicy(
    verdicts={"look": "allow"},
    terms=ApprovalTerms(approvers=ANN_OR_BOB, expires=timedelta(minutes=15), on_timeout="deny"),
)


async def test_approve(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(tmp_path / "a.db", asks(target), policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "approve")
    assert seen["asked"]["types"] == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]
    (interrupt,) = seen["asked"]["outcome"]["interrupts"]
    assert interrupt["reason"] == "tool_call"
    assert interrupt["metadata"]["askfirst"]["rules"] == ["careful"]
    assert interrupt["responseSchema"]["properties"].keys() == {
        "approved",
        "reason",
        "optionId",
        "editedArgs",
    }
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert "TOOL_CALL_START" not in seen["resumed"]["types"]
    assert seen["resumed"]["results"][0]["toolCallId"] == interrupt["toolCallId"]
    assert seen["resumed"]["pending"] == []
    assert seen["roles"] == ["user", "assistant", "tool", "assistant"]
    assert seen["state"]["askfirst"]["state"] == "done"
    assert marks(target) == ["x", "x"]


async def test_edit_replaces_all_arguments(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(tmp_path / "a.db", asks(target), policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "edit")
    assert "path" in seen["schema"]["properties"]["editedArgs"]["properties"]
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert marks(target) == ["edited", "edited"]


async def test_deny_with_a_reason(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(
        tmp_path / "a.db", asks(target, say("Then not.")), policy=ANN_ASKS, clock=RealClock()
    ) as api:
        seen = await drive(api, "deny")
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert "declined by ann because: wrong host" in seen["resumed"]["results"][0]["content"]
    assert marks(target) == []


async def test_cancel_abandons_the_question(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(
        tmp_path / "a.db", asks(target, say("Then not.")), policy=ANN_ASKS, clock=RealClock()
    ) as api:
        seen = await drive(api, "cancel")
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert "dismissed" in seen["resumed"]["results"][0]["content"]
    assert marks(target) == []


async def test_two_interrupts_at_once(tmp_path: Path) -> None:
    one, two = (tool_call("mark", {"path": str(tmp_path / "m"), "text": name}) for name in "ab")
    script = [calls(one, two), say("Done.")]
    async with bench(tmp_path / "a.db", script, policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "two")
    assert len(seen["asked"]["outcome"]["interrupts"]) == 2
    assert "not addressed" in seen["refusedHere"]["failed"]
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert marks(tmp_path / "m") == ["a"]


async def test_an_expired_one_can_only_be_cancelled(tmp_path: Path) -> None:
    brief = TablePolicy(
        terms=ApprovalTerms(approvers=ANN_OR_BOB, expires=timedelta(seconds=-1), on_timeout="deny")
    )
    async with bench(
        tmp_path / "a.db", asks(tmp_path / "m", say("Late.")), policy=brief, clock=RealClock()
    ) as api:
        seen = await drive(api, "expired")
    assert "expired" in seen["locally"]["failed"]
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert "nobody answered in time" in seen["resumed"]["results"][0]["content"]
    assert marks(tmp_path / "m") == []


async def test_a_validation_error_is_answered_again(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(tmp_path / "a.db", asks(target), policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "invalid")
    assert seen["bad"]["error"]["code"] == "INTERRUPT_PAYLOAD_INVALID"
    assert seen["bad"]["pending"] == seen["asked"]["pending"]
    assert seen["again"]["outcome"] == {"type": "success"}
    assert marks(target) == ["x", "x"]


async def test_a_client_that_lost_everything_finds_the_question_again(tmp_path: Path) -> None:
    target = tmp_path / "m"
    async with bench(tmp_path / "a.db", asks(target), policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "reconnect")
    assert seen["found"]["outcome"] == seen["asked"]["outcome"]
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert seen["roles"] == ["user", "assistant", "tool", "assistant"]
    assert marks(target) == ["x", "x"]


async def test_a_tool_of_the_client_is_called_and_its_answer_reaches_the_model(tmp_path: Path) -> None:
    def book(request: ModelRequest) -> Any:
        assert "pick_slot" in {tool.name for tool in request.tools}
        return call("pick_slot", {"topic": "intro"})

    script: list[Step] = [book, say("Booked.")]
    async with bench(tmp_path / "a.db", script, policy=ANN_ASKS, clock=RealClock()) as api:
        seen = await drive(api, "tool")
    assert seen["asked"]["outcome"]["type"] == "success"
    assert seen["resumed"]["outcome"] == {"type": "success"}
    assert seen["roles"] == ["user", "assistant", "tool", "assistant"]
