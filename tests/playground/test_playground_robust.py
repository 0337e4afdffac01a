"""Whatever the app sends, the workspace answers with one of Slack's errors and never breaks."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.playground import cast, timeline
from bot.playground.arguments import Arguments
from bot.playground.blockkit.layout import BLOCKS
from bot.playground.blockkit.surfaces import check_blocks, check_view, text_length
from bot.playground.clock import Clock
from bot.playground.errors import SlackError
from bot.playground.inputs import controls, state_values
from bot.playground.methods.call import Call
from bot.playground.methods.registry import METHODS
from bot.playground.world import BOT_USER, Message, Trigger, World
from tests.playground.support import CARD, MANIFEST, modal, plain

Json = dict[str, Any]
WORDS = ["type", "text", "elements", "block_id", "action_id", "options", "value", "blocks", "title"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.text(max_size=5),
    st.sampled_from([*BLOCKS, "button", "plain_text", "mrkdwn", "static_select", "modal", "home"]),
    st.just(plain("x")),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(ANYTHING, max_size=4))
@settings(deadline=None)  # other work on the machine is not a failure
def test_any_blocks_are_judged_and_what_passes_can_be_shown(blocks: list[Any]) -> None:
    text_length(blocks)
    if check_blocks(blocks, "message") == []:
        stored = timeline.with_ids(World(Clock().now), blocks)
        state_values(stored, {})
        assert all(control.element["action_id"] for control in controls(stored))


@given(st.dictionaries(st.sampled_from(WORDS), ANYTHING))
@settings(deadline=None)
def test_any_view_is_judged(view: Json) -> None:
    check_view(view)


def _world() -> World:
    world = World(Clock(start=1000).now)
    cast.populate(world)
    message = Message(channel=cast.GENERAL, ts="1.0", user=BOT_USER, by_bot=True, blocks=CARD)
    timeline.post(world, message)
    world.triggers["trigger"] = Trigger(user=cast.APPROVER, expires_at=2000)
    return world


ALLOWED_EVERYTHING = replace(
    MANIFEST, scopes=MANIFEST.scopes | {method.scope for method in METHODS.values() if method.scope}
)
#: Arguments with which most methods succeed; each example then spoils a few of them.
SENSIBLE: Json = {
    "channel": cast.GENERAL,
    "channel_id": cast.GENERAL,
    "user": cast.APPROVER,
    "users": cast.APPROVER,
    "user_id": cast.APPROVER,
    "email": "approver@example.com",
    "ts": "1.0",
    "thread_ts": "1.0",
    "timestamp": "1.0",
    "message_ts": "1.0",
    "text": "hello",
    "blocks": CARD,
    "attachments": [{"text": "x"}],
    "metadata": {"event_type": "x", "event_payload": {}},
    "view": modal("Hi"),
    "trigger_id": "trigger",
    "chunks": [{"type": "markdown_text", "text": "x"}],
    "name": "eyes",
    "status": "active",
    "title": "x",
    "prompts": [{"title": "x", "message": "y"}],
    "files": [{"id": "F1"}],
    "filename": "x",
    "length": 3,
    "limit": 2,
    "oldest": "0",
    "latest": "9",
    "usergroup": cast.ONCALL,
    "recipient_user_id": cast.APPROVER,
    "recipient_team_id": "T1",
}
MORE = ["view_id", "external_id", "hash", "cursor", "types", "markdown_text", "session_status", "message"]
WEIRD = st.sampled_from(["[]", "{}", "{", "-1", "", "1e999", "nan", cast.FORMER, cast.PRIVATE]) | ANYTHING
SPOILED = st.dictionaries(st.sampled_from([*SENSIBLE, *MORE]), WEIRD, max_size=3)
DROPPED = st.sets(st.sampled_from(sorted(SENSIBLE)), max_size=3)


@pytest.mark.parametrize("name", sorted(METHODS))
@given(spoiled=SPOILED, dropped=DROPPED)
@settings(max_examples=80, deadline=None)
def test_any_arguments_get_an_answer_or_an_error_of_slacks(
    name: str, spoiled: Json, dropped: set[str]
) -> None:
    arguments = {key: value for key, value in SENSIBLE.items() if key not in dropped} | spoiled
    call = Call(
        world=_world(),
        manifest=ALLOWED_EVERYTHING,
        args=Arguments(arguments),
        url="http://127.0.0.1",
        new_socket=lambda: "ws://127.0.0.1",
    )
    try:
        METHODS[name].check_scope(call)
        answer = METHODS[name].run(call)
    except SlackError:
        return
    json.dumps(answer)
