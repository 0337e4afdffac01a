"""Asking again after an expiry: the smallest step that can still help, and never an approval by itself.

1. The run still waits for other questions of the same step: the expired one gets a successor, judged anew, and
   the agent never hears of the timeout.
2. The run has gone on: the agent is told, before its next turn, that the person still wants it. If it proposes the
   call again, that is judged and asked like any other.
3. The run is over: a new run goes on from its conversation, with that wish as its request. If it had not even
   begun, because nobody said what was meant, the request itself is put again.
"""

from dataclasses import dataclass, replace
from typing import Literal

from bot.domain.audit import AuditFact
from bot.domain.decision import Expired
from bot.domain.errors import InvalidAnswer, NotAllowed
from bot.domain.ids import InterruptId, RunId, UserId
from bot.domain.interrupt import Asked, Interrupt
from bot.domain.person import Person
from bot.domain.run import Base, Head
from bot.domain.tool import ToolCall
from bot.domain.transcript import UserText
from bot.domain.verdict import ApprovalTerms, Ask, Deny
from bot.engine import questions
from bot.engine.driver import World
from bot.engine.ports import Post
from bot.engine.rights import objection


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """What became of it."""

    run_id: RunId
    how: Literal["asked", "noted", "new_run"]
    #: The new question, if there is one already.
    interrupt: InterruptId | None = None


def check(asked: Asked, person: Person) -> None:
    """Raise unless it expired, and this person asked for it or may decide it."""
    if not isinstance(asked.outcome, Expired):
        raise InvalidAnswer("Only a question that expired can be asked again.")
    asked_for_it = person.standing == "member" and person.id == asked.interrupt.requester
    if not asked_for_it and (problem := objection(person, asked)):
        raise NotAllowed(problem)


def wish(interrupt: Interrupt, by: UserId) -> str:
    """What the agent is told; it must propose the call again, so that it is judged and asked again."""
    what = f"your call of {interrupt.planned.tool}" if interrupt.planned else "your question"
    return (
        f"Nobody answered {what} in time ({interrupt.id}). {by} still wants it: "
        "if it is still needed, propose it again, unchanged, and people will be asked again."
    )


async def request(world: World, interrupt: Interrupt, head: Head, by: UserId) -> tuple[str, Base | None]:
    """What a new run is asked, and which conversation it goes on from."""
    if interrupt.kind == "clarification":
        transcript = await world.store.transcript(head.run_id)
        first = transcript[len(transcript) - head.cursor].item
        if isinstance(first, UserText):
            return first.text, head.base
    return wish(interrupt, by), Base(run_id=head.run_id, cursor=head.cursor)


async def reopen(world: World, asked: Asked, head: Head, by: UserId) -> InterruptId | None:
    """Open a successor if the run still waits with this step unfinished; None if it has gone on."""
    outcome = asked.outcome
    if isinstance(outcome, Expired) and outcome.replaced_by:
        return outcome.replaced_by
    if head.state != "waiting" or not _refers(head, asked.interrupt):
        return None
    successor = await _successor(world, asked.interrupt, head)
    body = {"id": successor.id, "ask": successor.kind, "again": asked.interrupt.id, "by": by}
    fact = AuditFact(kind="interrupt", at=successor.opened_at, run_id=head.run_id, body=body)
    posts = tuple(
        Post(key=f"card/{name}", thread=head.thread, run_id=head.run_id, kind="card", subject=name)
        for name in (successor.id, asked.interrupt.id)
        if head.thread.keeps_messages
    )
    return successor.id if await world.store.ask_again(asked, successor, (fact,), posts) else None


def _refers(head: Head, interrupt: Interrupt) -> bool:
    return any(call.interrupt == interrupt.id and call.status == "asking" for call in head.calls)


async def _successor(world: World, old: Interrupt, head: Head) -> Interrupt:
    """The same question under a new name; an approval is measured and judged from the top."""
    now = world.clock()
    # Derived, like the name of an edited question: the same click twice is the same question.
    name = InterruptId(f"{old.id}a")
    span = min(old.expires_at - old.opened_at, head.agent.patience)
    if old.kind != "approval" or old.planned is None or old.call_id is None:
        remind = tuple(now + (due - old.opened_at) for due in old.remind_at)
        return replace(old, id=name, opened_at=now, expires_at=now + span, remind_at=remind)
    call = ToolCall(id=old.call_id, tool=old.planned.tool, args=old.planned.args)
    judgement = await world.judge.judge(head, call, old.planned)
    verdict = judgement.verdict
    if verdict is None or isinstance(verdict, Deny):
        reason = verdict.reason if verdict else judgement.invalid
        raise InvalidAnswer(f"The policy forbids it now: {reason}")
    if not isinstance(verdict, Ask):
        # It could run unasked now, but people were asked: they decide, on the terms they were asked on.
        terms = ApprovalTerms(
            approvers=old.approvers, quorum=old.quorum, expires=span, on_timeout=old.on_timeout
        )
        verdict = Ask(rules=old.rules, reason=old.reason, policy=verdict.policy, terms=terms)
    return questions.approval(name, head, judgement, verdict, said=old.said, now=now)
