"""What an approval is worth at the moment of execution: bound to the bytes, single use, expiring."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.domain.canonical import digest
from bot.domain.ids import UserId
from bot.domain.person import Person
from bot.domain.tool import Impact, Planned
from bot.domain.verdict import Approvers, Ask, Verdict


def binding_digest(
    planned: Planned, *, cwd: str, tool_fingerprint: str, impact: Impact | None, policy_version: str
) -> str:
    """Return the digest of everything a person looked at when they said yes."""
    return digest([planned.tool, planned.args, cwd, tool_fingerprint, _measured(impact), policy_version])


def _measured(impact: Impact | None) -> object:
    if impact is None:
        return None
    # Words and alternatives are how it was shown; these are what was measured.
    return [impact.count, impact.bytes, impact.reversible, impact.fingerprint, impact.facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A yes that was given earlier, presented for execution."""

    digest: str
    by: tuple[Person, ...]
    expires_at: datetime
    policy_version: str
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorised:
    kind: Literal["allow"] = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAuthorised:
    """`deny`: this yes is worth nothing · `ask`: it was good, but the world moved on; ask again."""

    kind: Literal["ask", "deny"]
    reason: str


def authorise(
    approval: Approval, verdict: Verdict, *, digest: str, requester: UserId, now: datetime
) -> Authorised | NotAuthorised:
    """Return whether `approval` answers `verdict`, the policy's newest word on exactly this call.

    A policy that has become stricter wins over the approval; one that has become looser changes nothing.
    """
    if verdict.kind == "deny":
        return NotAuthorised(kind="deny", reason=verdict.reason)
    if why := _worthless(approval, digest, now) or _not_enough(approval, verdict, requester):
        return NotAuthorised(kind="deny", reason=why)
    if approval.policy_version != verdict.policy:
        return NotAuthorised(kind="ask", reason="the policy changed after this approval")
    return Authorised()


def _worthless(approval: Approval, digest: str, now: datetime) -> str | None:
    if approval.used:
        return "this approval was already used"
    if approval.digest != digest:
        return "this approval is for another call"
    if now >= approval.expires_at:
        return f"this approval expired at {approval.expires_at:%H:%M} UTC"
    return None


def _not_enough(approval: Approval, verdict: Verdict, requester: UserId) -> str | None:
    if not isinstance(verdict, Ask):
        return None
    terms = verdict.terms
    for person in approval.by:
        if not admits(terms.approvers, person, requester):
            return f"{person.id} may not decide this"
    if len({person.id for person in approval.by}) < terms.quorum:
        return f"{terms.quorum} people have to agree"
    return None


def admits(approvers: Approvers, person: Person, requester: UserId) -> bool:
    """Whether `person`, as the front knows them right now, may decide. Nobody is admitted by default."""
    if person.standing != "member":
        return False
    own = person.id == requester and bool(requester)
    if own and not approvers.requester_may_approve:
        return False
    listed = person.id in approvers.users or not person.groups.isdisjoint(approvers.groups)
    if not listed and not (own and approvers.requester):
        return False
    return all(admits(others, person, requester) for others in approvers.all_of)


def tightened(stored: Verdict, newest: Verdict) -> Verdict:
    """Return the verdict of a run that waited: its stored one, unless a newer policy is stricter."""
    order = {"allow": 0, "ask": 1, "deny": 2}
    if order[newest.kind] > order[stored.kind]:
        return newest
    if isinstance(stored, Ask) and isinstance(newest, Ask):
        return newest if _harder(newest, stored) else stored
    return stored


def _harder(newest: Ask, stored: Ask) -> bool:
    return newest.terms.quorum > stored.terms.quorum or (
        newest.terms.approvers != stored.terms.approvers and newest.terms.quorum >= stored.terms.quorum
    )
