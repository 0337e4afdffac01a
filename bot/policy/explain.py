"""Why: every rule that was looked at, what it said, and what made the verdict."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

from bot.domain.canonical import JsonObject
from bot.domain.tool import ToolCall
from bot.domain.verdict import Approvers, Ask, Verdict
from bot.policy import builtin
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.look import Look
from bot.policy.model import Block, Policy, Rule, Test
from bot.policy.outcome import Unclear
from bot.policy.profile import NotInProfile
from bot.policy.profile_table import read_only
from bot.policy.shell import Proof

#: spoke: all its conditions hold · silent: one does not · unclear: cannot be told, which never loosens ·
#: elsewhere: it is about other tools.
Said: TypeAlias = Literal["spoke", "silent", "unclear", "elsewhere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One rule, and why it did or did not speak."""

    rule: str
    block: Block
    said: Said
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One command of a shell text."""

    argv: tuple[str, ...]
    #: Why it is not in the read_only profile; empty if it is.
    not_read_only: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What could be proved about a shell text."""

    text: str
    proved: bool
    #: What will be executed, if it is proved.
    runs: str = ""
    parts: tuple[Part, ...] = ()
    #: Why it could not be proved, and where that was noticed.
    why_not: str = ""
    position: int = 0
    #: Everything it might run, in case it is not proved.
    might_run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    policy: str
    version: str
    tool: str
    args: JsonObject
    verdict: Verdict
    heard: tuple[Heard, ...]
    commands: tuple[Command, ...] = ()
    #: Why no rule was asked at all, if that is so.
    refused: str = ""


def explain(policy: Policy, call: ToolCall, context: Context) -> Explanation:
    """Return the verdict with everything that led to it."""
    verdict = decide(policy, call, context)
    refused = builtin.refusal(call, context)
    if refused or context.tool is None:
        heard, commands = (), ()
    else:
        look = Look(call, context, context.tool, policy.resolver)
        heard = tuple(_heard(rule, look) for layer in policy.layers for rule in layer.rules)
        commands = tuple(_commands(look))
    return Explanation(
        policy=policy.name,
        version=policy.version,
        tool=call.tool,
        args=call.args,
        verdict=verdict,
        heard=heard,
        commands=commands,
        refused=refused.reason if refused else "",
    )


def _heard(rule: Rule, look: Look) -> Heard:
    said, why = _said(rule, look)
    return Heard(rule=rule.id, block=rule.block, said=said, why=why, source=rule.source)


def _said(rule: Rule, look: Look) -> tuple[Said, str]:
    if not rule.is_for(look.call.tool):
        return "elsewhere", f"is about {', '.join(rule.tools)}"
    try:
        if not rule.speaks(look):
            return "silent", _failing(rule.tests, look)
    except Unclear as unclear:
        return ("silent" if rule.block == "allow" else "unclear"), str(unclear)
    if rule.covers is not None:
        return _covering(rule, look)
    words = (test.found(look) if test.found else test.phrase for test in rule.tests)
    return "spoke", "; ".join(words) or "has no conditions"


def _failing(tests: tuple[Test, ...], look: Look) -> str:
    for test in tests:
        try:
            if not test.check(look):
                return (
                    f"exempt: {test.phrase}" if test.phrase.startswith("unless") else f"not so: {test.phrase}"
                )
        except Unclear:
            continue
    return "one of its conditions does not hold"


def _covering(rule: Rule, look: Look) -> tuple[Said, str]:
    mask = rule.covers(look) if rule.covers else 0
    parts = [simple for _, proof in look.proofs if isinstance(proof, Proof) for simple in proof.commands]
    if not parts:
        return "silent", "the command is not proved"
    left = [simple.argv for place, simple in enumerate(parts) if not mask >> place & 1]
    if not left:
        return "spoke", "covers every command"
    reads = read_only(left[0])
    reason = reads.reason if isinstance(reads, NotInProfile) else f"{left[0][0]} looks outside its paths"
    return ("spoke" if mask else "silent"), f"does not cover `{' '.join(left[0])[:60]}`: {reason}"


def _commands(look: Look) -> Iterator[Command]:
    for text, proof in look.proofs:
        if isinstance(proof, Proof):
            parts = tuple(
                Part(argv=simple.argv, not_read_only=_reason(simple.argv)) for simple in proof.commands
            )
            yield Command(text=text, proved=True, runs=proof.render(), parts=parts)
        else:
            might = dict.fromkeys(" ".join(reading.words) for reading in look.readings if reading.words)
            yield Command(
                text=text,
                proved=False,
                why_not=proof.reason,
                position=proof.position,
                might_run=tuple(might)[:12],
            )


def _reason(argv: tuple[str, ...]) -> str:
    found = read_only(argv)
    return found.reason if isinstance(found, NotInProfile) else ""


# Rendering: pure text. Colours are a table, so that a pipe gets none.

_COLOURS = {"deny": "31;1", "ask": "33;1", "allow": "32;1", "dim": "2", "bold": "1"}
_MARKS: dict[Said, str] = {"spoke": "●", "silent": "○", "unclear": "?", "elsewhere": "·"}


def render_text(explanation: Explanation, *, colour: bool = False) -> str:
    """Return the explanation as lines a person enjoys reading."""

    def paint(text: str, how: str) -> str:
        return f"\x1b[{_COLOURS[how]}m{text}\x1b[0m" if colour else text

    verdict = explanation.verdict
    lines = [
        f"{paint(verdict.kind.upper(), verdict.kind)}  {explanation.tool}  {paint(verdict.reason, 'bold')}"
    ]
    lines.append(
        paint(f"policy {explanation.policy} {explanation.version}, rules {', '.join(verdict.rules)}", "dim")
    )
    if explanation.refused:
        lines += ["", "No rule was asked: this holds for every policy."]
    for command in explanation.commands:
        lines += ["", *_command_lines(command)]
    for block in ("deny", "ask", "allow"):
        heard = [each for each in explanation.heard if each.block == block and each.said != "elsewhere"]
        if heard:
            lines += ["", paint(block, block)]
            lines += [f"{_rule_line(each)}  {paint(each.source, 'dim')}" for each in heard]
    elsewhere = sum(each.said == "elsewhere" for each in explanation.heard)
    if elsewhere:
        lines += ["", paint(f"{elsewhere} more rules are about other tools", "dim")]
    if isinstance(verdict, Ask):
        lines += ["", *_ask_lines(verdict)]
    return "\n".join(lines)


def _rule_line(heard: Heard) -> str:
    return f"  {_MARKS[heard.said]} {heard.rule:<22} {heard.why}"


def _command_lines(command: Command) -> Iterator[str]:
    if command.proved:
        yield f"runs exactly   {command.runs}"
        for part in command.parts:
            if part.not_read_only:
                yield f"  not only reading: {part.not_read_only}"
    else:
        yield f"not proved     {command.why_not} (position {command.position})"
        if command.might_run:
            yield f"might run      {' · '.join(_short(each) for each in command.might_run)}"


def _ask_lines(verdict: Ask) -> Iterator[str]:
    terms = verdict.terms
    if terms.approvers.nobody:
        yield "Nobody may approve this: the policy names no approvers."
        return
    own = "" if terms.approvers.requester_may_approve else ", not the person who asked"
    people = f"{_people(terms.approvers)}{own}"
    yield f"decides        {people}; {terms.quorum} must agree within {duration(terms.expires)}"
    yield f"answers        {', '.join((*terms.verbs, *(option.label for option in terms.options)))}"
    yield f"remembering    {'may be offered' if terms.grantable else 'never: each call is asked about'}"


def _people(approvers: Approvers) -> str:
    return approvers.label or ", ".join((*approvers.users, *approvers.groups))


def duration(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
