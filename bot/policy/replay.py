"""What a policy would have decided on what really happened, and which rules people's approvals suggest."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.domain.canonical import JsonObject
from bot.domain.ids import CallId, UserId
from bot.domain.tool import Impact, ToolCall, ToolDefinition
from bot.domain.verdict import Verdict
from bot.policy.cases import known_tool
from bot.policy.context import Context
from bot.policy.evaluate import decide
from bot.policy.model import STRICTNESS, Block, Policy
from bot.policy.profile import Reads
from bot.policy.profile_table import read_only
from bot.policy.shell import Proof, prove
from bot.policy.shell.unwrap import INTERPRETERS, PLACED, TEXTUAL, WRAPPERS, base_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """One call from the audit log."""

    at: datetime
    channel: str
    requester: str
    tool: str
    args: JsonObject
    impact: Impact | None = None
    verdict_then: Block
    #: What people said: approved, rejected, expired …; empty if nobody was asked.
    decision: str = ""
    #: Whether values were redacted, so that today's verdict on it is a guess.
    uncertain: bool = False
    cwd: str = "/"
    seconds_to_decision: float | None = None


Change = Literal["newly allowed", "newly asked", "newly denied", "loosened to ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    past: PastCall
    verdict: Verdict
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    total: int
    uncertain: int
    changes: tuple[Changed, ...]

    def of(self, change: Change) -> tuple[Changed, ...]:
        return tuple(each for each in self.changes if each.change == change)


#: How a tool is known today; by default from the policy's own table.
FindTool = Callable[[str], ToolDefinition | None]


def replay(policy: Policy, past: Iterable[PastCall], find_tool: FindTool | None = None) -> Report:
    """Judge every past call by `policy` and return what would come out differently."""
    total = uncertain = 0
    changes: list[Changed] = []
    for each in past:
        total += 1
        uncertain += each.uncertain
        verdict = judged(policy, each, find_tool)
        if change := _change(each.verdict_then, verdict.kind):
            changes.append(Changed(past=each, verdict=verdict, change=change))
    return Report(total=total, uncertain=uncertain, changes=tuple(changes))


def judged(policy: Policy, past: PastCall, find_tool: FindTool | None = None) -> Verdict:
    tool = find_tool(past.tool) if find_tool else known_tool(policy, past.tool)
    context = Context(
        tool=tool,
        now=past.at,
        requester=UserId(past.requester),
        channel=past.channel,
        cwd=past.cwd,
        environment=policy.environment,
        impact=past.impact,
        # History knows what was pinned then no more; assume it was what is in force.
        pins={past.tool: tool.fingerprint} if tool else {},
    )
    return decide(policy, ToolCall(id=CallId("replay"), tool=past.tool, args=past.args), context)


def _change(then: Block, now: Block) -> Change | None:
    if then == now:
        return None
    if STRICTNESS[now] > STRICTNESS[then]:
        return "newly asked" if now == "ask" else "newly denied"
    return "newly allowed" if now == "allow" else "loosened to ask"


# Suggestions


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule the team's own approvals speak for, with the evidence and what it would have changed."""

    id: str
    yaml: str
    approvals: int
    people: int
    first: datetime
    last: datetime
    #: Questions it would have saved, and calls it would have let through that somebody rejected.
    saved: int
    wrong: int


#: Fewer approvals are chance.
ENOUGH = 5


def suggest(past: Sequence[PastCall], policy: Policy, find_tool: FindTool | None = None) -> list[Suggestion]:
    """Return allow rules for kinds of calls that were asked about and always approved, best first.

    Never for commands that run other commands, and never where anybody said no even once.
    """
    groups: dict[tuple[str, str], list[PastCall]] = defaultdict(list)
    for each in past:
        if each.verdict_then == "ask" and each.decision and not each.uncertain:
            kind = _kind(each, find_tool or (lambda name: known_tool(policy, name)))
            if kind and judged(policy, each, find_tool).kind == "ask":
                groups[each.tool, kind].append(each)
    found = [_suggestion(tool, kind, calls) for (tool, kind), calls in groups.items()]
    return sorted((each for each in found if each and not each.wrong), key=lambda each: -each.saved)


def _kind(past: PastCall, find_tool: FindTool) -> str | None:
    """Return what calls of one kind have in common: a command and its subcommand, or their directory."""
    tool = find_tool(past.tool)
    if tool is None:
        return None
    if tool.commands:
        return _command_kind(str(past.args.get(tool.commands[0], "")))
    path = past.args.get(tool.paths[0]) if tool.paths else None
    if isinstance(path, str) and path.startswith("/"):
        return f"{tool.paths[0]}:{path.rsplit('/', 1)[0] or '/'}"
    return None


def _command_kind(text: str) -> str | None:
    proof = prove(text)
    if not isinstance(proof, Proof):
        return None
    strange = [simple.argv for simple in proof.commands if not isinstance(read_only(simple.argv), Reads)]
    names = {base_name(argv[0]) for argv in strange}
    if len(names) != 1 or not strange or names & (WRAPPERS | PLACED | TEXTUAL | INTERPRETERS):
        return None
    argv = list(strange[0])
    if len(argv) > 1 and argv[1].isidentifier() and all(list(other[:2]) == argv[:2] for other in strange):
        return f"{argv[0]} {argv[1]}"
    return argv[0] if all(list(other) == argv for other in strange) and "/" not in argv[0] else None


def _suggestion(tool: str, kind: str, calls: Sequence[PastCall]) -> Suggestion | None:
    approved = [each for each in calls if each.decision.startswith(("approved", "edited and approved"))]
    wrong = len(calls) - len(approved)
    if len(approved) < ENOUGH:
        return None
    key, _, directory = kind.partition(":")
    name = f"often-approved-{_slug(kind)}"
    if directory:
        rule = f"  - {{id: {name}, tool: {tool}, when: {{{key}: {{under: {directory}}}}}}}"
    else:
        rule = f'  - {{id: {name}, tool: {tool}, command: ["{kind}"]}}'
    when = sorted(each.at for each in approved)
    return Suggestion(
        id=name,
        yaml=f"allow:\n{rule}",
        approvals=len(approved),
        people=len({each.requester for each in approved}),
        first=when[0],
        last=when[-1],
        saved=len(approved),
        wrong=wrong,
    )


def _slug(text: str) -> str:
    return "-".join("".join(char if char.isalnum() else " " for char in text).split())[:50]
