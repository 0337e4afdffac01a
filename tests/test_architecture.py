"""The architecture one can see in the folder tree, checked: layers by import-linter, one door per vendor here."""

import re
from pathlib import Path

import grimp
import pytest

import bot.domain.errors as errors_module

ROOT = Path(__file__).parent.parent

#: Each vendor may be imported only below these modules.
DOORS = {
    "slack_bolt": ["bot.slack", "bot.playground"],
    "slack_sdk": ["bot.slack", "bot.playground"],
    "anthropic": ["bot.llm"],
    "httpx2": ["bot.llm"],
    "aiosqlite": ["bot.storage"],
    "asyncpg": ["bot.storage"],
    "apscheduler": ["bot.scheduler.timer"],
    "mcp": ["bot.tools.mcp"],
    "ag_ui": ["bot.api"],
    "yaml": ["bot.policy.files", "bot.playground"],
    "re2": ["bot.policy"],
    "tree_sitter": ["bot.policy.shell"],
    "jsonschema_rs": ["bot.engine.answers", "bot.llm", "bot.tools", "bot.api"],
    "pydantic_settings": ["bot.settings"],
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("bot", include_external_packages=True)


@pytest.mark.parametrize("vendor", DOORS)
def test_a_vendor_has_one_door(graph: grimp.ImportGraph, vendor: str) -> None:
    if vendor not in graph.modules:
        return
    importers = graph.find_modules_that_directly_import(vendor)
    strangers = {module for module in importers if not module.startswith(tuple(DOORS[vendor]))}
    assert strangers == set()


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors_module.__doc__ or "")
    defined = [
        name
        for name, value in vars(errors_module).items()
        if isinstance(value, type) and value.__module__ == errors_module.__name__
    ]
    assert sorted(drawn) == sorted(name for name in defined if name != "BotError")


def test_no_module_has_grown_into_a_god() -> None:
    """Not a law, but a question: is there a noun to split by?"""
    large = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "bot").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 600
    }
    assert large == {}
