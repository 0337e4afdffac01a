"""How well requests are recognised that must be clarified first: precision and recall on a labelled set.

Against the words alone; and against a real model too when ANTHROPIC_API_KEY is set.
"""

import asyncio
import json
from pathlib import Path

from benchmarks.table import show
from bot.domain.assessment import Assessment
from bot.domain.canonical import JsonObject
from bot.engine import clarify, heuristic
from bot.engine.assess import Assessor
from bot.llm.anthropic import AnthropicModel
from bot.policy.model import Clarify
from bot.settings import load_settings
from bot.tools.builtin.assemble import builtin_tools
from bot.wiring import utc_now

CASES = Path(__file__).parent.parent / "tests/scope/requests.jsonl"
#: The block of POLICY.md: ask what is ambiguous or could touch a lot, skip what only reads.
CLARIFY = Clarify(ambiguous=True, blast_radius=("high",), skip_effects={"read_only": True})
TOOLS = tuple(tool.definition for tool in builtin_tools(clock=utc_now))


def cases() -> list[JsonObject]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def asks(assessment: Assessment) -> bool:
    return clarify.wanted(CLARIFY, assessment, TOOLS)


def score(name: str, answers: list[bool]) -> list[object]:
    """Precision: of those asked, how many had to be. Recall: of those that had to be, how many were asked."""
    expected = [case["ask"] for case in cases()]
    hits = sum(said and wanted for said, wanted in zip(answers, expected, strict=True))
    precision, recall = hits / max(1, sum(answers)), hits / max(1, sum(expected))
    return [name, len(expected), f"{precision:.2f}", f"{recall:.2f}"]


def by_words() -> list[bool]:
    names = [tool.name for tool in TOOLS]
    return [asks(heuristic.assess(case["text"], names)) for case in cases()]


async def by_model(key: str, base_url: str | None, name: str) -> list[bool]:
    async with AnthropicModel(api_key=key, base_url=base_url) as model:
        assessor = Assessor(model, name)
        return [asks(await assessor.assess(case["text"], [], TOOLS)) for case in cases()]


def main() -> None:
    rows = [score("words alone", by_words())]
    settings = load_settings()
    if settings.anthropic_api_key is not None:
        key = settings.anthropic_api_key.get_secret_value()
        name = settings.scope_model or settings.model
        rows.append(score(name, asyncio.run(by_model(key, settings.anthropic_base_url, name))))
    show("Requests to clarify first", ["assessed by", "requests", "precision", "recall"], rows)
    for case, said in zip(cases(), by_words(), strict=True):
        if said != case["ask"]:
            print(f"  {'asked for nothing' if said else 'MISSED'}: {case['text']}")
