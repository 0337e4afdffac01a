"""`askfirst policy check | explain | test | replay | suggest`.

Exit codes: 0 all is well, 1 a problem was found or a test failed, 2 the command was not understood.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from bot.cli.paint import VERDICTS, paint, wanted
from bot.domain.errors import ConfigError
from bot.domain.ids import CallId
from bot.domain.tool import Impact, ToolCall
from bot.policy.casefile import Outcome, read_cases, run_case
from bot.policy.cases import failures, situation
from bot.policy.explain import explain, render_text
from bot.policy.files import PolicyProblems, PolicySet, load
from bot.policy.lint import Finding, lint
from bot.policy.model import Policy
from bot.policy.paths import LinkTable, Resolver
from bot.policy.replay import Change, PastCall, Report, Suggestion, replay, suggest

#: What `add_subparsers` returns; argparse does not export its name.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
DEFAULT_PATH = "policies"
#: Where past calls come from; the bot's database stands in here, `--history` reads a file.
History: TypeAlias = Callable[[datetime | None], Iterable[PastCall]]


def add_parser(subparsers: Subparsers, history: History | None = None) -> None:
    """Add `policy` and its subcommands; `history` provides past calls when no `--history` file is given."""
    policy = subparsers.add_parser(
        "policy",
        help="check, explain and try out policy files",
        description="Work on policy files before they are in force. Nothing here runs a tool or asks anybody.",
    )
    commands = policy.add_subparsers(title="actions", dest="policy_command", required=True, metavar="ACTION")

    check = _command(
        commands, "check", "validate the files, run their tests, point out likely mistakes", _check
    )
    check.add_argument("--strict", action="store_true", help="also fail on notes")

    one = _command(commands, "explain", "say what happens to a call, and why", _explain)
    one.add_argument("--tool", required=True)
    one.add_argument("--args", default="{}", help="the arguments as JSON")
    one.add_argument("--impact", help='what a preview measured, as JSON: {"count": 51}')
    one.add_argument(
        "--context", default="{}", help='the situation as JSON: {"requester": "U1", "now": "…", "cwd": "…"}'
    )
    _where(one)

    test = _command(commands, "test", "run the tests inside the files, or a file of cases", _test)
    test.add_argument("--cases", help="a .jsonl file, one case per line")
    test.add_argument("--links", help='symbolic links of the cases\' file system as JSON: {"/srv/x": "/etc"}')

    for name, text, run in (
        ("replay", "what these files would have decided on what really happened", _replay),
        ("suggest", "rules that people's approvals speak for", _suggest),
    ):
        past = _command(commands, name, text, run)
        past.add_argument("--history", help="a .jsonl file of past calls instead of the bot's database")
        past.add_argument("--since", type=_since, help="how far back: 30d, 12h")
        past.set_defaults(source=history)
        _where(past)


def _command(
    commands: Subparsers,
    name: str,
    text: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text.capitalize() + ".")
    parser.add_argument(
        "paths", nargs="*", default=[DEFAULT_PATH], help=f"files or directories (default: {DEFAULT_PATH})"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.set_defaults(run=_reporting(run))
    return parser


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channel", default="", help="the channel whose policy counts")
    parser.add_argument("--policy", default="", help="the policy by its name")


def _reporting(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def reporting(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except PolicyProblems as error:
            return _problems(error, as_json=args.json)
        except (ConfigError, OSError) as error:
            print(paint(str(error), "red", colour=wanted(sys.stderr)), file=sys.stderr)
            return 2

    return reporting


def _problems(error: PolicyProblems, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"problems": [asdict(problem) for problem in error.problems]}))
        return 1
    for problem in error.problems:
        print(f"{paint('✖', 'red')} {problem.file}:{problem.line}:{problem.column}  {problem.message}")
        if excerpt := _excerpt(problem.file, problem.line, problem.column):
            print(paint(excerpt, "dim"))
    print(f"\n{len(error.problems)} problem{'s' * (len(error.problems) != 1)}. The files were not loaded.")
    return 1


def _excerpt(file: str, line: int, column: int) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8").splitlines()[line - 1]
    except (OSError, IndexError):
        return ""
    return f"    {line:>4} | {text}\n         | {' ' * (column - 1)}^"


# check


def _check(args: argparse.Namespace) -> int:
    policies = load(*args.paths).policies
    found = {name: lint(policy) for name, policy in policies.items()}
    bad = any(each.level == "warning" or args.strict for findings in found.values() for each in findings)
    if args.json:
        print(json.dumps({name: [asdict(each) for each in findings] for name, findings in found.items()}))
        return int(bad)
    for name, policy in policies.items():
        rules = len(policy.rules)
        passed = f"{rules} rules, {len(policy.tests)} tests passed"
        print(f"{paint('✔', 'green')} {paint(name, 'bold')} {policy.version}  {passed}")
        for each in found[name]:
            _print_finding(each)
    return int(bad)


def _print_finding(finding: Finding) -> None:
    mark = paint("!", "yellow") if finding.level == "warning" else paint("·", "dim")
    print(f"  {mark} {finding.message}  {paint(finding.source, 'dim')}")


# explain


def _explain(args: argparse.Namespace) -> int:
    policy = _chosen(load(*args.paths), args)
    call_args, context = _object(args.args, "--args"), _object(args.context, "--context")
    impact = _object(args.impact, "--impact") if args.impact else None
    if args.channel:
        context.setdefault("channel", args.channel)
    context.setdefault("cwd", str(Path.cwd()))
    call = ToolCall(id=CallId("explain"), tool=args.tool, args=call_args)
    explanation = explain(policy, call, situation(policy, args.tool, context, impact))
    if args.json:
        print(json.dumps(asdict(explanation), default=_plain))
    else:
        print(render_text(explanation, colour=wanted()))
    return 0


def _chosen(policies: PolicySet, args: argparse.Namespace) -> Policy:
    if args.policy:
        if args.policy not in policies.policies:
            raise ConfigError(
                f"there is no policy called {args.policy!r}; there are {', '.join(policies.policies)}"
            )
        return policies.policies[args.policy]
    return policies.for_channel(args.channel)


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{option} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{option} must be a JSON object")
    return value  # pyright: ignore[reportUnknownVariableType]


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


# test


def _test(args: argparse.Namespace) -> int:
    resolver: Resolver | None = LinkTable(_object(args.links, "--links")) if args.links else None
    if args.cases:
        policies = load(*args.paths, resolver=resolver).policies
        with Path(args.cases).open(encoding="utf-8") as lines:
            outcomes = [run_case(policies, case) for case in read_cases(lines, args.cases)]
        return _report_cases(outcomes, as_json=args.json)
    policies = load(*args.paths, resolver=resolver, run_tests=False).policies
    failed = {name: dict(failures(policy)) for name, policy in policies.items()}
    if args.json:
        print(
            json.dumps(
                {name: {"tests": len(policies[name].tests), "failed": each} for name, each in failed.items()}
            )
        )
    else:
        for name, policy in policies.items():
            _print_tests(policy, failed[name])
    return int(any(failed.values()))


def _print_tests(policy: Policy, failed: dict[int, str]) -> None:
    print(
        f"{paint(policy.name, 'bold')}  {len(policy.tests) - len(failed)} of {len(policy.tests)} tests passed"
    )
    for number, test in enumerate(policy.tests):
        mark = paint("✖", "red") if number in failed else paint("✔", "green")
        values = json.dumps(test.args, ensure_ascii=False)
        print(f"  {mark} {paint(test.expect, VERDICTS[test.expect]):<6} {test.call} {values}")
        if number in failed:
            print(f"      {failed[number]}  {paint(test.source, 'dim')}")


def _report_cases(outcomes: Sequence[Outcome], *, as_json: bool) -> int:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        print(
            json.dumps(
                {"total": len(outcomes), "failed": [_case(outcome) for outcome in failed]}, default=_plain
            )
        )
        return int(bool(failed))
    for outcome in failed:
        case, verdict = outcome.case, outcome.verdict
        got = paint(verdict.kind, VERDICTS[verdict.kind])
        print(
            f"{paint('✖', 'red')} {case.id}: expected {case.expect}, got {got} by {', '.join(verdict.rules)}"
        )
        print(f"    {case.tool} {json.dumps(case.args)[:200]}\n    {case.why}; {verdict.reason}")
    print(f"{len(outcomes) - len(failed)} of {len(outcomes)} cases passed")
    return int(bool(failed))


def _case(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    return {
        "id": outcome.case.id,
        "expect": outcome.case.expect,
        "got": verdict.kind,
        "rules": verdict.rules,
        "reason": verdict.reason,
    }


# replay, suggest


def _since(text: str) -> timedelta:
    units = {"d": "days", "h": "hours", "w": "weeks"}
    if not text[:-1].isdigit() or text[-1:] not in units:
        raise argparse.ArgumentTypeError("a duration like 30d or 12h is expected")
    return timedelta(**{units[text[-1]]: int(text[:-1])})


def _past(args: argparse.Namespace) -> list[PastCall]:
    if args.history:
        with Path(args.history).open(encoding="utf-8") as lines:
            found = list(read_history(lines, args.history))
    elif args.source is not None:
        found = list(args.source(None))
    else:
        raise ConfigError("there is no history here; give a file with --history")
    if args.since and found:
        # Counted from the newest call, so that an old export can be replayed, too.
        earliest = max(each.at for each in found) - args.since
        found = [each for each in found if each.at >= earliest]
    return found


def read_history(lines: Iterable[str], name: str) -> Iterator[PastCall]:
    """Yield past calls from lines of JSON, as `askfirst audit export` writes them."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            raw: Any = json.loads(line)
            impact = raw.get("impact")
            at = datetime.fromisoformat(raw["at"])
            yield PastCall(
                at=at if at.tzinfo else at.replace(tzinfo=UTC),
                channel=raw.get("channel", ""),
                requester=raw.get("requester", ""),
                tool=raw["tool"],
                args=raw["args"],
                impact=Impact(summary="", count=impact.get("count"), reversible=impact.get("reversible"))
                if impact
                else None,
                verdict_then=raw["verdict_then"],
                decision=raw.get("decision", ""),
                uncertain=raw.get("uncertain", False),
                cwd=raw.get("cwd", "/"),
            )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ConfigError(f"{name}:{number}: not a past call: {error}") from error


_ORDER: tuple[tuple[Change, str], ...] = (
    ("newly allowed", "allow"),
    ("loosened to ask", "ask"),
    ("newly asked", "ask"),
    ("newly denied", "deny"),
)


def _replay(args: argparse.Namespace) -> int:
    policy = _chosen(load(*args.paths), args)
    report = replay(policy, _past(args))
    if args.json:
        print(json.dumps(_report(report), default=_plain))
        return 0
    name = f"{paint(policy.name, 'bold')} {policy.version}"
    print(f"{report.total} calls, {len(report.changes)} would come out differently under {name}")
    if report.uncertain:
        print(paint(f"{report.uncertain} of them were redacted; their verdict is a guess", "dim"))
    for change, kind in _ORDER:
        found = report.of(change)
        if found:
            print(f"\n{paint(change, VERDICTS[kind])}  {len(found)}")
        for each in found[:20]:
            values = json.dumps(each.past.args, ensure_ascii=False)
            rules = paint(", ".join(each.verdict.rules), "dim")
            print(f"  {each.past.at:%Y-%m-%d %H:%M}  {each.past.tool} {values[:100]}  {rules}")
        if len(found) > 20:
            print(paint(f"  and {len(found) - 20} more", "dim"))
    return 0


def _report(report: Report) -> dict[str, Any]:
    changes = [
        {
            "change": each.change,
            "at": each.past.at.isoformat(),
            "tool": each.past.tool,
            "args": each.past.args,
            "then": each.past.verdict_then,
            "now": each.verdict.kind,
            "rules": each.verdict.rules,
        }
        for each in report.changes
    ]
    return {"total": report.total, "uncertain": report.uncertain, "changes": changes}


def _suggest(args: argparse.Namespace) -> int:
    policy = _chosen(load(*args.paths), args)
    found = suggest(_past(args), policy)
    if args.json:
        print(json.dumps([asdict(each) for each in found], default=_plain))
        return 0
    if not found:
        print("Nothing to suggest: no kind of call was asked about often and always approved.")
    for each in found:
        _print_suggestion(each)
    return 0


def _print_suggestion(each: Suggestion) -> None:
    print(paint(each.yaml, "bold"))
    people = f"{each.people} {'person' if each.people == 1 else 'people'}"
    when = f"{each.first:%Y-%m-%d} to {each.last:%Y-%m-%d}"
    print(f"  approved {each.approvals} times, asked by {people}, {when}, never rejected")
    print(
        f"  back-test: it would have saved {each.saved} questions and let nothing through that was rejected\n"
    )
