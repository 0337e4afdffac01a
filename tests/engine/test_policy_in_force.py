"""The engine under a real policy file: limits, grants and scoped options hold across runs and restarts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.decision import Approve, Choose, Remember
from bot.domain.errors import NotAllowed
from bot.domain.ids import GrantId
from bot.engine.live_policies import InForce, LivePolicies
from bot.llm.scripted import Step, call, calls, say, tool_call
from bot.policy.files import PolicySet, load_texts
from tests.engine.lab import ANN, DEV, Lab, lab
from tests.engine.tools import marks

POLICY = """
version: 1
name: default
default: ask
groups: {team: {users: [ann, bob]}}
approval: {by: team, expires: 15m}
allow:
  - {id: free, tool: touch}
ask:
  - id: many
    tool: mark
    when: {impact.count: {gt: 2}}
    options:
      - approve
      - {label: At most two, narrow: {count: {lte: 2}}}
      - reject
  - {id: for-ever, tool: wipe, irreversible: true}
limits:
  - {id: three-touches, tool: touch, max: 3, per: 1h, then: deny}
  - {id: few-questions, verdict: ask, max: 2, per: 1h, then: deny}
"""


@dataclass
class Files:
    """Policies from text, as `wiring.LivePolicies` serves them from files."""

    policies: PolicySet

    def for_channel(self, channel: str) -> InForce:
        return InForce(self.policies.for_channel(channel))


@asynccontextmanager
async def governed(path: Path, script: list[Step], text: str = POLICY) -> AsyncGenerator[Lab]:
    policies = Files(load_texts({"default.yaml": text}, run_tests=False))
    async with lab(path, script, policy=policies) as bench:  # pyright: ignore[reportArgumentType]
        yield bench


def touches(target: Path, count: int) -> Step:
    return calls(*(tool_call("touch", {"path": str(target)}, id=f"c{number}") for number in range(count)))


async def test_a_limit_holds_within_one_turn_and_after_a_restart(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    async with governed(tmp_path / "a.db", [touches(target, 2), say("ok")]) as bench:
        await bench.ask()
    async with governed(
        tmp_path / "a.db", [touches(target, 3), say("ok"), touches(target, 1), say("ok")]
    ) as bench:
        run = await bench.ask()
        assert [status for status, _ in await bench.results(run)] == ["denied", "denied", "ok"]
        assert marks(target) == ["x"] * 3
        bench.clock.pass_(hours=2)
        run = await bench.ask()
        assert [status for status, _ in await bench.results(run)] == ["ok"]


async def test_a_limit_on_questions_protects_the_approvers(tmp_path: Path) -> None:
    three = calls(
        *(tool_call("mark", {"path": "p", "text": str(number)}, id=f"c{number}") for number in range(3))
    )
    async with governed(tmp_path / "a.db", [three, say("ok")]) as bench:
        run = await bench.ask()
        assert len(await bench.open(run)) == 2
        assert [status for status, _ in await bench.results(run)] == ["denied"]


async def test_a_policys_option_is_measured_and_may_only_narrow(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    async with governed(
        tmp_path / "a.db", [call("mark", {"path": str(target), "count": 5}), say("ok")]
    ) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        offered = {option.label: option for option in question.options}
        assert offered["At most two"].consequence == "2 lines"
        await bench.decide(question, Choose(option=offered["At most two"].id))
        assert marks(target) == ["x", "x"]


REMEMBER = Approve(remember=Remember(place="channel", lasts=timedelta(hours=1), uses=2))


async def test_a_remembered_approval_lets_the_same_call_pass_so_often_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "marks"
    same = {"path": str(target)}
    script = [step for _ in range(4) for step in (call("mark", same), say("ok"))]
    script += [call("mark", {"path": str(target), "text": "other"}), say("ok")]
    async with governed(tmp_path / "a.db", list(script)) as bench:
        first = await bench.ask()
        await bench.decide(await bench.only(first), REMEMBER)
        for expected in ("done", "done", "waiting"):
            run = await bench.ask()
            assert (await bench.head(run)).state == expected
        assert marks(target) == ["x"] * 3


async def test_a_revoked_grant_asks_again(tmp_path: Path) -> None:
    same = {"path": str(tmp_path / "marks")}
    async with governed(tmp_path / "a.db", [call("mark", same), say("ok"), call("mark", same)]) as bench:
        first = await bench.ask()
        question = await bench.only(first)
        await bench.decide(question, REMEMBER)
        assert await bench.runner.revoke(GrantId(f"g-{question.id}"), ANN.id)
        assert (await bench.head(await bench.ask())).state == "waiting"


async def test_a_grant_is_void_under_another_policy(tmp_path: Path) -> None:
    same = {"path": str(tmp_path / "marks")}
    async with governed(tmp_path / "a.db", [call("mark", same), say("ok")]) as bench:
        await bench.decide(await bench.only(await bench.ask()), REMEMBER)
    async with governed(tmp_path / "a.db", [call("mark", same)], POLICY.replace("15m", "16m")) as bench:
        assert (await bench.head(await bench.ask())).state == "waiting"


async def test_an_irreversible_rule_is_never_remembered(tmp_path: Path) -> None:
    async with governed(tmp_path / "a.db", [call("wipe", {"path": str(tmp_path / "f")})]) as bench:
        run = await bench.ask()
        question = await bench.only(run)
        with pytest.raises(NotAllowed, match="has to be approved each time"):
            await bench.decide(question, REMEMBER)
        assert await bench.only(run) == question


async def test_four_eyes_is_the_default(tmp_path: Path) -> None:
    text = POLICY.replace("[ann, bob]", "[ann, dev]")
    async with governed(tmp_path / "a.db", [call("mark", {"path": "p"})], text) as bench:
        question = await bench.only(await bench.ask())
        with pytest.raises(NotAllowed, match="You asked for this yourself"):
            await bench.decide(question, Approve(), DEV)


async def test_a_changed_file_comes_into_force_and_a_broken_one_does_not(tmp_path: Path) -> None:
    file = tmp_path / "default.yaml"
    file.write_text(POLICY, encoding="utf-8")
    live = LivePolicies([tmp_path])
    before = live.current.version
    assert not live.refresh()

    file.write_text(POLICY.replace("15m", "20m"), encoding="utf-8")
    assert live.refresh()
    good = live.current.version
    assert good != before

    file.write_text(POLICY + "defalt: allow\n", encoding="utf-8")
    assert not live.refresh()
    assert live.current.version == good
    assert "default.yaml:21:1" in live.problem

    failing = POLICY + "tests:\n  - {call: read_file, args: {path: p}, expect: deny}\n"
    file.write_text(failing, encoding="utf-8")
    assert not live.refresh()
    assert live.current.version == good
    assert "expect" in live.problem

    file.write_text(POLICY, encoding="utf-8")
    assert live.refresh()
    assert live.problem == ""
