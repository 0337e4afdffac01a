"""What must hold whatever the model proposes, the policy says and people answer."""

import random
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain.decision import Answer, Approve, Reject
from bot.domain.transcript import ModelTurn, ToolResult
from bot.llm.scripted import calls, say, tool_call
from tests.engine.lab import lab
from tests.engine.tools import marks
from tests.fakes.policies import TablePolicy

#: For each call: what the policy says of it, and what people answer if they are asked.
CALLS = st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), st.booleans()), min_size=1, max_size=5)
NAMES = {"allow": "touch", "ask": "mark", "deny": "wipe"}
POLICY = {"touch": "allow", "mark": "ask", "wipe": "deny"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=CALLS, order=st.randoms(use_true_random=False))
async def test_a_call_runs_only_if_it_was_allowed_or_approved_and_each_gets_one_result(
    plan: list[tuple[str, bool]], order: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "marks"
        proposed = [
            tool_call(
                NAMES[verdict],
                {"path": str(target)} | ({} if verdict == "deny" else {"text": str(n)}),
                id=f"c{n}",
            )
            for n, (verdict, _) in enumerate(plan)
        ]
        policy = TablePolicy(verdicts=dict(POLICY))
        async with lab(Path(name) / "a.db", [calls(*proposed), say("ok")], policy=policy) as bench:
            run = await bench.ask()
            waiting = await bench.open(run)
            order.shuffle(waiting)
            for question in waiting:
                said_yes = plan[int(str(question.call_id)[1:])][1]
                answer: Answer = Approve() if said_yes else Reject()
                await bench.decide(question, answer)
            items = await bench.items(run)
            head = await bench.head(run)
        should_run = {
            str(n)
            for n, (verdict, yes) in enumerate(plan)
            if verdict == "allow" or (verdict == "ask" and yes)
        }
        assert sorted(marks(target)) == sorted(should_run)
        results = [item.call_id for item in items if isinstance(item, ToolResult)]
        assert sorted(results) == sorted(call.id for call in proposed)
        assert head.state == "done"
        assert sum(isinstance(item, ModelTurn) for item in items) == 2
