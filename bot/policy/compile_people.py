"""Who decides, and how a question is put: groups, approvers and terms of a policy file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.domain.verdict import ApprovalTerms, Approvers, Escalation, OptionSpec, Verb
from bot.policy.model import RuleTerms
from bot.policy.schema import Approval, EditOnly, Group, Instead, Narrowed

#: Where a problem is: the keys and indices that lead to it.
Place = tuple[str | int, ...]


class BadRule(Exception):
    """The file is well formed, but says something that cannot be done."""

    def __init__(self, place: Place, why: str) -> None:
        self.place, self.why = place, why
        super().__init__(why)


class People:
    """The groups a file knows, its own and those of the file it extends."""

    def __init__(self, groups: Mapping[str, Group], inherited: Mapping[str, Approvers]) -> None:
        own = {
            name: Approvers(users=tuple(group.users), groups=tuple(group.usergroup), label=name)
            for name, group in groups.items()
        }
        for name, group in own.items():
            if name == "requester" or inherited.get(name, group) != group:
                raise BadRule(("groups", name), f"the group {name!r} already means somebody else")
        self.groups: dict[str, Approvers] = {**inherited, **own}

    def approvers(self, names: Sequence[str], place: Place) -> Approvers:
        users: list[str] = []
        groups: list[str] = []
        for name in names:
            if name in self.groups:
                users += self.groups[name].users
                groups += self.groups[name].groups
            elif name[:1] in "UW" and name.isupper() and len(name) > 1:
                users.append(name)
            elif name != "requester":
                raise BadRule(place, f"nobody knows the approvers {name!r}; define them under groups")
        return Approvers(
            users=tuple(dict.fromkeys(users)),
            groups=tuple(dict.fromkeys(groups)),
            requester="requester" in names,
            requester_may_approve="requester" in names,
            label=", ".join(names),
        )

    def terms(
        self, approval: Approval, base: ApprovalTerms, place: Place, *, grantable: bool = True
    ) -> RuleTerms:
        approvers = base.approvers if approval.by is None else self.approvers(approval.by, (*place, "by"))
        if approval.requester_may_approve is not None:
            approvers = replace(approvers, requester_may_approve=approval.requester_may_approve)
        elif approval.by is not None and base.approvers.requester_may_approve:
            approvers = replace(approvers, requester_may_approve=True)
        escalate = base.escalate
        if approval.escalate is not None:
            to = self.approvers(approval.escalate.to, (*place, "escalate", "to"))
            escalate = Escalation(
                after=approval.escalate.after,
                to=replace(to, requester_may_approve=approvers.requester_may_approve),
            )
        expires = approval.expires or base.expires
        terms = replace(
            base,
            approvers=approvers,
            quorum=approval.quorum or base.quorum,
            reason_required=base.reason_required
            if approval.reason is None
            else approval.reason == "required",
            expires=expires,
            remind=tuple(after for after in approval.remind or base.remind if after < expires),
            escalate=escalate if escalate and escalate.after < expires else None,
            on_timeout=approval.on_timeout or base.on_timeout,
            snooze_extends=base.snooze_extends if approval.snooze is None else approval.snooze == "extend",
            grantable=grantable,
        )
        return RuleTerms(terms=_with_options(terms, approval.options), named=approval.by is not None)


def not_looser(own: ApprovalTerms, inherited: ApprovalTerms) -> ApprovalTerms:
    """Return the terms of a file that extends another: who decides may change, how strictly may only grow."""
    may_self = own.approvers.requester_may_approve and inherited.approvers.requester_may_approve
    return replace(
        own,
        approvers=replace(own.approvers, requester_may_approve=may_self),
        quorum=max(own.quorum, inherited.quorum),
        reason_required=own.reason_required or inherited.reason_required,
        expires=min(own.expires, inherited.expires),
        snooze_extends=own.snooze_extends and inherited.snooze_extends,
    )


def _with_options(terms: ApprovalTerms, options: list[Any] | None) -> ApprovalTerms:
    if options is None:
        return terms
    verbs: list[Verb] = []
    specs: list[OptionSpec] = []
    editable: tuple[str, ...] | None = None
    for option in options:
        match option:
            case Narrowed():
                specs.append(OptionSpec(label=option.label, narrow=option.narrow))
                verbs.append("choose")
            case Instead():
                specs.append(OptionSpec(label=option.label, use=option.use, args=option.with_))
                verbs.append("choose")
            case EditOnly():
                editable = tuple(option.edit)
                verbs.append("edit")
            case _:
                verbs.append(option)
    return replace(terms, verbs=tuple(dict.fromkeys(verbs)), options=tuple(specs), editable=editable)
