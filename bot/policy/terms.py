"""How several rules that ask become one question: never weaker than any of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.domain.verdict import ApprovalTerms, Approvers, Escalation, OnTimeout, OptionSpec
from bot.policy.model import RuleTerms

_TIMEOUTS: dict[OnTimeout, int] = {"keep_waiting": 0, "deny": 1, "cancel_run": 2}


def combined(spoken: Sequence[RuleTerms]) -> ApprovalTerms:
    """Return the strictest combination: most votes, least time, only answers that every rule offers."""
    all_terms = [each.terms for each in spoken]
    if len(all_terms) == 1:
        return all_terms[0]
    expires = min(terms.expires for terms in all_terms)
    return ApprovalTerms(
        approvers=_approvers(spoken),
        quorum=max(terms.quorum for terms in all_terms),
        reason_required=any(terms.reason_required for terms in all_terms),
        expires=expires,
        remind=_reminders(all_terms, expires),
        escalate=_escalation(all_terms),
        on_timeout=max((terms.on_timeout for terms in all_terms), key=lambda each: _TIMEOUTS[each]),
        verbs=tuple(verb for verb in all_terms[0].verbs if all(verb in terms.verbs for terms in all_terms)),
        editable=_editable(all_terms),
        # Each option is judged again before it is offered, so offering all of them loosens nothing.
        options=_options(all_terms),
        grantable=all(terms.grantable for terms in all_terms),
        snooze_extends=all(terms.snooze_extends for terms in all_terms),
    )


def _options(all_terms: Sequence[ApprovalTerms]) -> tuple[OptionSpec, ...]:
    by_label = {option.label: option for terms in reversed(all_terms) for option in reversed(terms.options)}
    return tuple(reversed(by_label.values()))


def _approvers(spoken: Sequence[RuleTerms]) -> Approvers:
    """Combine who may decide. A rule that names approvers outranks the file's fallback; of several that do,
    a decider must suit each.

    The alternative, any of the groups, would let the weakest rule's approvers wave through the strictest
    rule's call. If no one suits all, nobody can approve: that fails closed, and lint points it out.
    """
    named = [each.terms.approvers for each in spoken if each.named] or [
        each.terms.approvers for each in spoken
    ]
    distinct = list(dict.fromkeys(named))
    may_self = all(approvers.requester_may_approve for approvers in distinct)
    if len(distinct) == 1:
        return replace(distinct[0], requester_may_approve=may_self)
    if all(approvers.users and not approvers.groups and not approvers.requester for approvers in distinct):
        return _common_users(distinct, may_self=may_self)
    first, *others = distinct
    return replace(
        first,
        requester_may_approve=may_self,
        all_of=tuple(others),
        label=" and ".join(dict.fromkeys(approvers.label for approvers in distinct)),
    )


def _common_users(distinct: Sequence[Approvers], *, may_self: bool) -> Approvers:
    common = [user for user in distinct[0].users if all(user in approvers.users for approvers in distinct)]
    label = " and ".join(dict.fromkeys(approvers.label for approvers in distinct))
    return Approvers(users=tuple(common), requester_may_approve=may_self, label=label)


def _reminders(all_terms: Sequence[ApprovalTerms], expires: timedelta) -> tuple[timedelta, ...]:
    return tuple(sorted({after for terms in all_terms for after in terms.remind if after < expires}))


def _escalation(all_terms: Sequence[ApprovalTerms]) -> Escalation | None:
    # Escalation adds people; unless every rule adds the same ones, none are added.
    escalations = {terms.escalate for terms in all_terms}
    return escalations.pop() if len(escalations) == 1 else None


def _editable(all_terms: Sequence[ApprovalTerms]) -> tuple[str, ...] | None:
    lists = [terms.editable for terms in all_terms if terms.editable is not None]
    if not lists:
        return None
    return tuple(name for name in lists[0] if all(name in other for other in lists))
