"""Remembered approvals: created from an approval only, never broader than what was approved."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.domain.canonical import JsonObject
from bot.domain.errors import NotAllowed
from bot.domain.grant import Grant, GrantPlace
from bot.domain.ids import GrantId, UserId
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.tool import Planned, ToolCall, ToolDefinition
from bot.domain.verdict import Approvers
from bot.policy.binding import admits
from bot.policy.context import Context
from bot.policy.look import Look
from bot.policy.operators import BadOperand, condition
from bot.policy.outcome import Unclear
from bot.policy.paths import Resolver, Unresolved
from bot.policy.shell import Proof, prove
from bot.policy.shell.unwrap import INTERPRETERS, PLACED, TEXTUAL, WRAPPERS, base_name

#: Nobody means "for ever" when they click; what should hold longer belongs into the policy file.
LONGEST = timedelta(hours=24)
MOST_USES = 100


def grant_from(
    interrupt: Interrupt,
    approved: Planned,
    *,
    id: GrantId,  # noqa: A002 - it is the grant's own field
    by: UserId,
    at: datetime,
    place: GrantPlace,
    where: str,
    ttl: timedelta,
    uses: int,
    tool: ToolDefinition,
    narrow: JsonObject | None = None,
) -> Grant:
    """Return the grant that remembers this approval.

    It covers calls with the approved arguments. `narrow`, of the chosen option, stands in for the arguments
    it names; the option was approved with it, so it is what was approved.

    Raises:
        NotAllowed: the rule is irreversible, the command could be anything, or the bounds are too wide.
    """
    if not interrupt.grantable or interrupt.kind != "approval":
        raise NotAllowed("This kind of call has to be approved each time.")
    if not (timedelta(0) < ttl <= LONGEST and 0 < uses <= MOST_USES):
        raise NotAllowed(f"A remembered approval lasts at most {LONGEST} and {MOST_USES} calls.")
    if not rememberable(approved, tool):
        raise NotAllowed("A command that runs other commands has to be approved each time.")
    return Grant(
        id=id,
        tool=approved.tool,
        constraints=_constraints(interrupt, approved.args, narrow or {}),
        place=place,
        where=where,
        granted_by=by,
        granted_at=at,
        expires_at=at + ttl,
        interrupt_id=interrupt.id,
        rules=interrupt.rules,
        policy=interrupt.policy,
        tool_fingerprint=tool.fingerprint,
        max_uses=uses,
    )


def _constraints(interrupt: Interrupt, args: JsonObject, narrow: Mapping[str, object]) -> JsonObject:
    measured = interrupt.impact.count if interrupt.impact else None
    # The same arguments may reach more next time; the person agreed to this many.
    most: JsonObject = {} if measured is None else {"impact.count": {"lte": measured}}
    return {**{name: {"eq": value} for name, value in args.items()}, **narrow, **most}


def rememberable(planned: Planned, tool: ToolDefinition) -> bool:
    """Whether the next call like this is the same thing: no wrapper, no interpreter, no unproved text."""
    for key in tool.commands:
        proof = prove(str(planned.args.get(key, "")))
        if not isinstance(proof, Proof):
            return False
        names = {base_name(simple.argv[0]) for simple in proof.commands}
        if any(
            name in WRAPPERS | PLACED | TEXTUAL | INTERPRETERS or name.rstrip("0123456789.") in INTERPRETERS
            for name in names
        ):
            return False
    return True


def stands(grant: Grant, approvers: Approvers, grantor: Person) -> bool:
    """Whether the person who granted it could still approve such a call today; otherwise the grant is void.

    Only a front knows who is in a Slack group now, so the engine asks this before a grant enters a context.
    """
    return grantor.id == grant.granted_by and admits(approvers, grantor, UserId(""))


def covering(look: Look, rules: tuple[str, ...], version: str) -> Grant | None:
    """Return a grant that answers the question these rules ask, if there is one."""
    return next((grant for grant in look.context.grants if _covers(grant, look, rules, version)), None)


def grant_covers(
    grant: Grant,
    call: ToolCall,
    context: Context,
    *,
    rules: tuple[str, ...],
    policy: str,
    resolver: Resolver | None = None,
) -> bool:
    """Whether `grant` answers what `rules` of this `policy` version ask about `call`."""
    if context.tool is None:
        return False
    return _covers(grant, Look(call, context, context.tool, resolver or Unresolved()), rules, policy)


def _covers(grant: Grant, look: Look, rules: tuple[str, ...], version: str) -> bool:
    return (
        grant.tool == look.call.tool
        and grant.policy == version
        and grant.tool_fingerprint == look.tool.fingerprint
        and grant.revoked_at is None
        and grant.used < grant.max_uses
        and grant.granted_at <= look.context.now < grant.expires_at
        and grant.where == (look.context.thread if grant.place == "thread" else look.context.channel)
        and bool(grant.where)
        and set(rules) <= set(grant.rules)
        and _within(grant, look)
    )


def _within(grant: Grant, look: Look) -> bool:
    # An argument the approved call did not have is not covered, even if no constraint speaks against it.
    if not set(look.call.args) <= {key.partition(".")[0] for key in grant.constraints}:
        return False
    try:
        return all(
            condition(key, spec, restricting=False, resolver=look.resolver)(look)
            for key, spec in grant.constraints.items()
        )
    except (Unclear, BadOperand):
        return False
