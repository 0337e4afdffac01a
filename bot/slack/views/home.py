"""The Home tab: what waits for me, what I asked, recent decisions, what I let be remembered. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.canonical import JsonObject
from bot.domain.decision import Decided, describe
from bot.domain.grant import Grant
from bot.domain.interrupt import Asked
from bot.domain.literal import shortened, visible
from bot.domain.run import Head
from bot.slack.address import address_of
from bot.slack.views import names
from bot.slack.views.outcome import settled_at
from bot.slack.views.text import Block, button, escaped, header, line, note, person, plain, section, when

_MOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What one person finds there."""

    waiting: Sequence[Asked] = ()
    mine: Sequence[Head] = ()
    decided: Sequence[Asked] = ()
    grants: Sequence[Grant] = ()
    #: Where cards are, by interrupt: message reference.
    refs: dict[str, str]
    workspace_url: str


def home(it: Home) -> JsonObject:
    blocks: list[Block] = [header("Waiting for you")]
    blocks += [_waiting(it, asked) for asked in it.waiting[:_MOST]] or [note("Nothing waits for you.")]
    blocks += _more(len(it.waiting))
    blocks.append(header("You asked"))
    blocks += [_run(it, head) for head in it.mine[:_MOST]] or [note("Nothing yet. Mention me in a channel.")]
    blocks.append(header("Recent decisions"))
    blocks += [_decision(asked) for asked in it.decided[:_MOST]] or [note("None yet.")]
    blocks.append(header("Remembered approvals"))
    blocks += [grant_block(grant) for grant in it.grants[:_MOST]] or [note("None.")]
    return {"type": "home", "blocks": blocks}


def _more(count: int) -> list[Block]:
    return [note(f"and {count - _MOST} more; `/askfirst pending` lists them.")] if count > _MOST else []


def _waiting(it: Home, asked: Asked) -> Block:
    interrupt = asked.interrupt
    link = card_link(it, asked)
    accessory = {
        "type": "button",
        "text": plain("Open"),
        "action_id": f"{names.LINK}:{interrupt.id}",
        "url": link,
    }
    return section(_title(asked), accessory)


def card_link(it: Home, asked: Asked) -> str:
    ref = it.refs.get(asked.interrupt.id)
    where = address_of(asked.interrupt.thread_id)
    return where.link(it.workspace_url, ref.partition("/")[2] if ref else None)


def _title(asked: Asked) -> str:
    interrupt = asked.interrupt
    tool = f"{visible(interrupt.planned.tool)}: " if interrupt.planned else ""
    what = interrupt.impact.summary if interrupt.impact else interrupt.reason
    return f"{tool}{shortened(visible(what), 300)}"


def _run(it: Home, head: Head) -> Block:
    link = address_of(head.thread.id).link(it.workspace_url) if head.thread.front == "slack" else ""
    where = f"<{link}|in the thread>" if link else "elsewhere"
    return line(f"run {head.run_id} is *{head.state}* · {where} · {when(head.created_at)}")


def _decision(asked: Asked) -> Block:
    outcome = asked.outcome
    assert outcome is not None
    tool = f"`{escaped(asked.interrupt.planned.tool).replace('`', '')}` " if asked.interrupt.planned else ""
    by = f" by {person(outcome.decision.by)}" if isinstance(outcome, Decided) else ""
    return note(f"{tool}{asked.interrupt.id} {describe(outcome)}{by} · {when(settled_at(outcome))}")


def grant_block(grant: Grant) -> Block:
    left = grant.max_uses - grant.used
    text = f"{visible(grant.tool)} in this {grant.place}: {left} more times until {grant.expires_at:%Y-%m-%d %H:%M} UTC"
    shown = shortened(
        ", ".join(f"{visible(name)} {visible(str(limit))}" for name, limit in grant.constraints.items()), 400
    )
    return section(f"{text}\n{shown}", button("Revoke", f"{names.REVOKE}", grant.id, style="danger"))
