"""Every command, policy, path, link, option, table and quoted message in the documentation is checked here."""

import argparse
import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices

from bot.api.bodies import ChatBody, ResumeBody
from bot.api.routes import ROUTES, Route
from bot.cli.main import _parser, main  # pyright: ignore[reportPrivateUsage]
from bot.domain.tool import ToolDefinition
from bot.policy.files import load_texts
from bot.policy.lint import lint
from bot.policy.operators import NAMES
from bot.policy.schema import AllowRule, Approval, RuleFile
from bot.settings import Settings
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.mcp.config import load as load_mcp
from bot.wiring import utc_now

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
#: Run until they are stopped, so only their options are checked here; each has tests of its own.
LASTING = {"run", "chat", "playground", "serve"}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def snippets(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)


# Commands


def commands() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for page in PAGES:
        found += [(page.name, line) for line in bash_lines(page) if line.startswith("askfirst ")]
    return found


def bash_lines(page: Path) -> list[str]:
    lines = "".join(snippets(page, "bash")).splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.strip()]


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """Every command and subcommand with its parser; `""` is the program itself."""
    return dict(_parsers("", _parser()))


def _parsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:  # argparse has no public way to look
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            choices: dict[str, argparse.ArgumentParser] = action.choices  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            for word, child in choices.items():
                yield from _parsers(f"{name} {word}".strip(), child)


@pytest.mark.parametrize(("page", "command"), commands(), ids=lambda value: value)
def test_a_command_of_the_documentation_works(
    page: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies").symlink_to(ROOT / "policies")
    words = shlex.split(command)[1:]
    if words[0] in LASTING:
        assert words[0] in parsers()
        return
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert code == 0


def test_a_backup_made_as_documented_is_a_database_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tokens", "create", "ci", "--person", "U1"]) == 0
    (command,) = [line for line in bash_lines(ROOT / "docs/operating.md") if line.startswith("python3 ")]
    subprocess.run([sys.executable, *shlex.split(command)[1:]], check=True, cwd=tmp_path)
    assert main(["tokens", "--database", "backup.db", "list"]) == 0
    assert "ci " in capsys.readouterr().out


def test_every_line_of_a_bash_block_is_of_a_kind_that_is_tested() -> None:
    lines = [line for page in PAGES for line in bash_lines(page)]
    assert [line for line in lines if not line.startswith(("askfirst ", "make ", "python3 "))] == []


def named_commands() -> list[tuple[str, str]]:
    """Commands in bash blocks and in running text, with whatever follows them there."""
    inline = [
        (page.name, " ".join(found.split()))
        for page in PAGES
        for found in re.findall(r"`(askfirst [^`]+)`", prose(page))
    ]
    return sorted({*commands(), *inline})


@pytest.mark.parametrize(("page", "command"), named_commands(), ids=lambda value: value)
def test_a_named_command_exists_and_has_the_options_it_is_given(page: str, command: str) -> None:
    words = command.split()[1:]
    name = words[0]
    if len(words) > 1 and f"{name} {words[1]}" in parsers():
        name = f"{name} {words[1]}"
    assert name in parsers()
    options = set(re.findall(r"(?<=\s)--[a-z][a-z-]*", command))
    known = {option for action in parsers()[name]._actions for option in action.option_strings}
    assert options <= known


@pytest.mark.parametrize("name", sorted(parsers()))
def test_every_command_says_what_it_is_for(name: str) -> None:
    """Either in a description of its own, or in the list of the command above it."""
    parser = parsers()[name]
    above, _, word = name.rpartition(" ")
    listed = parsers()[above].format_help() if name else ""
    assert parser.description or re.search(rf"^    {re.escape(word)} +\S", listed, re.MULTILINE)
    assert all(action.help for action in parser._actions if action.option_strings and action.dest != "tool")


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    named = re.findall(r"^make (\w+)", "\n".join(snippets(README, "bash")), re.MULTILINE)
    assert named == ["demo", "test"]


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for page in PAGES:
        in_blocks = re.findall(r"^make (\w+)", "\n".join(snippets(page, "bash")), re.MULTILINE)
        inline = re.findall(r"`make (\w+)", prose(page))
        assert {*in_blocks, *inline} <= targets, page.name


def test_python_m_bot_is_the_same_as_the_command() -> None:
    command = [sys.executable, "-m", "bot", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert shown.startswith("usage: askfirst")


# Policies


def policies() -> list[tuple[str, str]]:
    return [
        (page.name, snippet)
        for page in PAGES
        for snippet in snippets(page, "yaml")
        if "version: 1" in snippet
    ]


@pytest.mark.parametrize(("page", "policy"), policies(), ids=lambda value: value[:40])
def test_a_policy_of_the_documentation_loads_its_tests_pass_and_lint_is_content(
    page: str, policy: str
) -> None:
    texts = {"recipe.yaml": policy}
    if "extends: default" in policy:
        texts["default.yaml"] = text_of(ROOT / "policies/default.yaml")
    loaded = load_texts(texts)
    mine = next(each for each in loaded.policies.values() if each.files[-1] == "recipe.yaml")
    assert mine.tests
    assert lint(mine) == ()


def test_the_policy_guide_names_every_operator_and_every_key_of_a_rule() -> None:
    guide = text_of(ROOT / "docs/policies.md")
    assert [name for name in NAMES if f"`{name}`" not in guide] == []
    keys = (*RuleFile.model_fields, *AllowRule.model_fields, *Approval.model_fields)
    assert [key for key in keys if not re.search(rf"`{key}[`:]", guide)] == []


# Tools


class _Nobody:
    async def recipients(self, to: str) -> int:
        return 0

    async def send(self, to: str, text: str, *, key: str) -> str:
        return ""


def builtin_definitions() -> list[ToolDefinition]:
    return [each.definition for each in builtin_tools(clock=utc_now, messenger=_Nobody())]


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = [part.get("type", "any") for part in schema.get("anyOf", [schema])]
    return " or ".join(kind for kind in kinds if kind != "null")


def _literal(schema: dict[str, Any]) -> str:
    # `*` would begin an emphasis.
    return str(schema.get("description", "")).replace("*", r"\*")


def argument_table(tool: ToolDefinition) -> str:
    """What docs/tools.md says about the arguments of a tool."""
    required = tool.parameters.get("required", [])
    lines = ["| argument | kind | default | meaning |", "|---|---|---|---|"]
    for name, schema in tool.parameters["properties"].items():
        default = (
            "required" if name in required else f"`{schema['default']}`" if schema.get("default") else ""
        )
        lines.append(f"| `{name}` | {_kind(schema)} | {default} | {_literal(schema)} |")
    return "\n".join(line.replace("  |", " |") for line in lines)


def effects_row(tool: ToolDefinition) -> str:
    effects = tool.effects
    words = (effects.read_only, effects.destructive, effects.idempotent, effects.open_world)
    return (
        " | ".join([f"| [`{tool.name}`](#{tool.name})", *("yes" if word else "" for word in words), ""])
        .replace("  |", " |")
        .rstrip()
    )


@pytest.mark.parametrize("tool", builtin_definitions(), ids=lambda tool: tool.name)
def test_the_arguments_of_a_built_in_tool_are_documented_as_they_are(tool: ToolDefinition) -> None:
    page = text_of(ROOT / "docs/tools.md")
    assert f"### {tool.name}\n" in page
    assert effects_row(tool) in page
    assert argument_table(tool) in page


def test_the_example_of_mcp_servers_can_be_read(tmp_path: Path) -> None:
    (example,) = snippets(ROOT / "docs/tools.md", "json")
    (tmp_path / ".mcp.json").write_text(example, encoding="utf-8")
    config = load_mcp(tmp_path / ".mcp.json", {"GITHUB_TOKEN": "secret-of-a-test"})
    assert config.servers["git"].trusted
    assert "secret-of-a-test" in config.secrets


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_is_documented_with_its_scope(route: Route) -> None:
    rows = [line for line in text_of(ROOT / "docs/http.md").splitlines() if line.startswith("| ")]
    (row,) = [row for row in rows if f"`{route.method} {route.path}`" in row]
    assert f"| {route.scope} |" in row


def test_bodies_in_the_examples_are_bodies_the_server_takes() -> None:
    page = text_of(ROOT / "docs/http.md")
    asked = re.findall(r"-d '({.*})'", page)
    answered = re.findall(r"^POST /api/v1/chat/resume +({.*})$", page, re.MULTILINE)
    assert (len(asked), len(answered)) == (1, 2)
    for body in asked:
        ChatBody.model_validate_json(body)
    for body in answered:
        ResumeBody.model_validate_json(body.replace("…", "ap-1"))


# Links, paths, settings


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    folders = "bot|docs|policies|tests|benchmarks|scripts"
    named = re.findall(rf"`((?:{folders})/[\w/.-]*|[\w-]+\.(?:yml|md)|Makefile|\.env\.example)`", prose(page))
    for path in named:
        known = (ROOT / path).exists() or (page.parent / path).exists()
        assert known, path


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)\)", text_of(README)))
    assert linked == {f"docs/{page.name}" for page in PAGES[1:]}


def test_the_readme_fits_on_three_screens() -> None:
    assert len(text_of(README).splitlines()) <= 150


def test_every_setting_is_listed_in_the_example() -> None:
    example = text_of(ROOT / ".env.example")
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        known = (
            str(alias.choices[0])
            if isinstance(alias, AliasChoices)
            else str(alias or f"ASKFIRST_{name.upper()}")
        )
        assert known in example


# Messages


@cache
def messages() -> tuple[str, ...]:
    """Every text in the source, with `…` for what is filled in."""
    found: list[str] = []
    for path in (ROOT / "bot").rglob("*.py"):
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values]
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return tuple(found)


def quoted() -> list[str]:
    return re.findall(r"^> (.+)$", text_of(ROOT / "docs/troubleshooting.md"), re.MULTILINE)


@pytest.mark.parametrize("message", quoted())
def test_a_message_in_troubleshooting_is_one_that_people_can_see(message: str) -> None:
    # A message may be put together from several texts, so each of its parts is looked for.
    for part in filter(None, (part.strip(" .:;()") for part in message.split("…"))):
        assert any(part in text for text in messages()), part
