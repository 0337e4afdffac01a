"""The verdict: strictest rule wins, errors never loosen, order never matters. Start reading at `decide`."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bot.domain.tool import ToolCall
from bot.domain.verdict import Allow, Ask, Deny, Verdict
from bot.policy import builtin
from bot.policy.context import Context
from bot.policy.grants import covering
from bot.policy.look import Look
from bot.policy.model import Layer, Limit, LimitUse, Policy, Rule, RuleTerms, speaks
from bot.policy.outcome import Unclear
from bot.policy.paths import text_glob
from bot.policy.shell import Proof, TooComplex
from bot.policy.terms import combined


@dataclass(slots=True)
class _Found:
    """The rules that spoke, by what they said."""

    deny: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ask: list[tuple[str, str, RuleTerms]] = field(default_factory=list[tuple[str, str, RuleTerms]])
    allow: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    #: Whether a deny or ask rule spoke, as opposed to a default.
    spoke: bool = False
    #: Which commands of a shell text allow rules cover, one bit each.
    covered: int = 0

    def covers(self, look: Look) -> bool:
        """Whether the allow rules together cover the whole call."""
        if not self.covered:
            return False
        everything = (1 << _parts(look)) - 1
        return self.covered & everything == everything


#: A rule that is not about single commands covers all of them.
_EVERYTHING = (1 << 4096) - 1


def _parts(look: Look) -> int:
    if not look.tool.commands:
        return 1
    # A text that is not proved counts as one part that only a rule about the whole tool covers.
    return sum(len(proof.commands) if isinstance(proof, Proof) else 1 for _, proof in look.proofs) or 1


def decide(policy: Policy, call: ToolCall, context: Context) -> Verdict:
    """Return what `policy` says about `call`. Never raises: what cannot be judged is denied."""
    try:
        return _decide(policy, call, context)
    except TooComplex as error:
        return Deny(rules=("builtin:command",), reason=f"{error}.".capitalize(), policy=policy.version)
    except Exception as error:  # noqa: BLE001 - promise 7, fail closed: a fault of ours must not let a call through
        reason = f"The policy could not be evaluated ({type(error).__name__}), so the call is refused."
        return Deny(rules=("builtin:error",), reason=reason, policy=policy.version)


def _decide(policy: Policy, call: ToolCall, context: Context) -> Verdict:
    refused = builtin.refusal(call, context)
    if refused or context.tool is None:
        rule, reason = refused or builtin.Refusal("builtin:unknown-tool", "There is no such tool.")
        return Deny(rules=(rule,), reason=reason, policy=policy.version)
    look = Look(call, context, context.tool, policy.resolver)
    if own := builtin.protects(look, policy.protected):
        return Deny(rules=(own.rule,), reason=own.reason, policy=policy.version)
    found = _Found()
    for layer in policy.layers:
        _restrict(layer, look, found)
        _permit(layer, look, found)
        # A file that extends another only tightens it: what the files so far leave to their default is
        # settled by that default, whatever the next file allows.
        if not found.spoke and not found.covers(look):
            _default(layer, look, found)
    _limit(policy, look, found)
    return _settled(policy, look, found)


def _restrict(layer: Layer, look: Look, found: _Found) -> None:
    """Add what the deny and ask rules of one layer say; a rule that cannot tell asks."""
    rules = layer.rules_for(look.call.tool)
    for rule in rules.deny:
        try:
            if rule.speaks(look):
                found.spoke = True
                found.deny.append((rule.id, rule.reason or f"refused by rule {rule.id}"))
        except Unclear as unclear:
            _doubted(rule, unclear, layer, found)
    for rule in rules.ask:
        try:
            if rule.speaks(look):
                found.spoke = True
                found.ask.append((rule.id, rule.reason or "this rule asks", rule.ask or layer.default_terms))
        except Unclear as unclear:
            _doubted(rule, unclear, layer, found)


def _doubted(rule: Rule, unclear: Unclear, layer: Layer, found: _Found) -> None:
    found.spoke = True
    terms = _ungrantable(rule.ask or layer.default_terms)
    found.ask.append((rule.id, f"cannot tell whether it applies: {unclear}", terms))


def _permit(layer: Layer, look: Look, found: _Found) -> None:
    """Add what the allow rules of one layer cover; one that cannot tell says nothing."""
    for rule in layer.rules_for(look.call.tool).allow:
        try:
            if not rule.speaks(look):
                continue
        except Unclear:
            continue
        mask = _EVERYTHING if rule.covers is None else rule.covers(look)
        if mask and rule.pinned and look.context.pins.get(look.call.tool) != look.tool.fingerprint:
            reason = "the tool's definition is not the one that was approved"
            found.spoke = True
            found.ask.append((rule.id, reason, _ungrantable(layer.default_terms)))
        elif mask:
            found.covered |= mask
            found.allow.append((rule.id, rule.reason or f"allowed by rule {rule.id}"))


def _default(layer: Layer, look: Look, found: _Found) -> None:
    name = f"default of {layer.name}" if layer.name else "default"
    match layer.default:
        case "deny":
            found.deny.append(("default", "no rule allows this"))
        case "ask":
            doubt = builtin.doubt(look)
            reason = doubt.reason if doubt else "no rule allows this without asking"
            terms = _ungrantable(layer.default_terms) if doubt else layer.default_terms
            found.ask.append(("default", reason, terms))
        case "allow":
            found.allow.append(("default", f"the {name} is to allow"))


def _ungrantable(terms: RuleTerms) -> RuleTerms:
    # A doubt is settled for this one call; it must not be remembered for the next.
    return RuleTerms(terms=replace(terms.terms, grantable=False), named=terms.named)


def _settled(policy: Policy, look: Look, found: _Found) -> Verdict:
    if found.deny:
        return _deny(policy, found.deny)
    if not found.ask and (doubt := builtin.doubt(look)):
        found.ask.append((doubt.rule, doubt.reason, _ungrantable(policy.layers[-1].default_terms)))
    if not found.ask:
        names, reasons = _named(found.allow)
        return Allow(rules=names, reason=reasons, policy=policy.version)
    names, reasons = _named((rule, reason) for rule, reason, _ in found.ask)
    terms = combined([terms for _, _, terms in found.ask])
    if terms.grantable and (grant := covering(look, names, policy.version)):
        reason = f"{grant.granted_by} approved this before, until {grant.expires_at:%H:%M} UTC"
        return Allow(rules=(f"grant:{grant.id}", *names), reason=reason, policy=policy.version)
    if look.context.headless or not policy.interrupts:
        return _deny(policy, [("builtin:headless", f"nobody can be asked here ({', '.join(names)})")])
    if full := _full(policy, look, "asks"):
        if full.then == "deny":
            return _deny(policy, [(full.id, f"more than {full.max} questions per {_words(full)}")])
        terms = replace(terms, grantable=False)
    return Ask(rules=names, reason=reasons, policy=policy.version, terms=terms)


def _deny(policy: Policy, denials: list[tuple[str, str]]) -> Deny:
    names, reasons = _named(denials)
    return Deny(rules=names, reason=reasons, policy=policy.version)


def _named(said: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    by_rule = dict(said)
    reasons = (
        reason if rule == "default" or len(by_rule) == 1 else f"{rule}: {reason}"
        for rule, reason in by_rule.items()
    )
    return tuple(by_rule), "; ".join(reasons)


# Limits


def limits_touched(policy: Policy, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
    """Return the counters this call would use if it runs (`calls`) or is asked about (`asks`)."""
    if context.tool is None:
        return ()
    look = Look(call, context, context.tool, policy.resolver)
    return tuple(
        LimitUse(
            id=limit.id, key=_key(policy, limit, context), per=limit.per, max=limit.max, counts=limit.counts
        )
        for limit in policy.limits
        if _touches(limit, look)
    )


def _touches(limit: Limit, look: Look) -> bool:
    if not any(text_glob(tool)(look.call.tool) for tool in limit.tools):
        return False
    try:
        return speaks(limit.tests, look)
    except Unclear:
        return True  # in doubt it is counted: a limit restricts


def _key(policy: Policy, limit: Limit, context: Context) -> str:
    owners = {
        "policy": policy.name,
        "channel": context.channel,
        "thread": context.thread,
        "requester": context.requester,
    }
    return f"{limit.id}:{owners[limit.each]}"


def _limit(policy: Policy, look: Look, found: _Found) -> None:
    full = _full(policy, look, "calls")
    if full is None:
        return
    reason = f"already {look.context.recent[full.id]} of {full.max} per {_words(full)}"
    if full.then == "deny":
        found.deny.append((full.id, reason))
    else:
        found.ask.append((full.id, reason, _ungrantable(policy.layers[-1].default_terms)))


def _full(policy: Policy, look: Look, counts: str) -> Limit | None:
    """Return the strictest limit that has no room left."""
    full = [
        limit
        for limit in policy.limits
        if limit.counts == counts
        and look.context.recent.get(limit.id, 0) >= limit.max
        and _touches(limit, look)
    ]
    return min(full, key=lambda limit: limit.then != "deny", default=None)


def _words(limit: Limit) -> str:
    seconds = int(limit.per.total_seconds())
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % size == 0:
            return word if seconds == size else f"{seconds // size} {word}s"
    return f"{seconds} seconds"
