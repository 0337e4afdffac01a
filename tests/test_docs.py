"""Every command and every policy in the README is run, so that it cannot rot."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import AliasChoices

from bot.cli.main import main
from bot.policy.files import load_texts
from bot.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for page in PAGES:
        for snippet in snippets(page, "bash"):
            lines = (line.split("  #")[0].strip() for line in snippet.splitlines())
            found += [(page.name, line) for line in lines if line.startswith("askfirst ") and "…" not in line]
    return found


@pytest.mark.parametrize(("page", "command"), commands(), ids=lambda value: value)
def test_a_command_of_the_documentation_works(
    page: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies").symlink_to(ROOT / "policies")
    try:
        code = main(shlex.split(command)[1:])
    except SystemExit as end:
        code = end.code
    assert code == 0


def policies() -> list[tuple[str, str]]:
    return [
        (page.name, snippet)
        for page in PAGES
        for snippet in snippets(page, "yaml")
        if "version: 1" in snippet
    ]


@pytest.mark.parametrize(("page", "policy"), policies(), ids=lambda value: value[:20])
def test_a_policy_of_the_documentation_loads_and_its_tests_pass(page: str, policy: str) -> None:
    load_texts({"default.yaml": policy if "name:" in policy else f"{policy}\nname: default\n"})


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"^make (\w+)", "\n".join(snippets(ROOT / "README.md", "bash")), re.MULTILINE)
    assert named == ["demo", "test"]
    assert set(named) <= set(targets)


def test_every_setting_is_listed_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        known = (
            str(alias.choices[0])
            if isinstance(alias, AliasChoices)
            else str(alias or f"ASKFIRST_{name.upper()}")
        )
        assert known in example


def test_python_m_bot_is_the_same_as_the_command() -> None:
    command = [sys.executable, "-m", "bot", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert shown.startswith("usage: askfirst")


@pytest.mark.parametrize("path", ["bot/engine/runner.py", "bot/engine/approvals.py"])
def test_files_named_in_the_readme_exist(path: str) -> None:
    assert path in (ROOT / "README.md").read_text(encoding="utf-8")
    for named in re.findall(r"`(bot/[\w/]+\.py)`", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), named
