"""Tools of other packages, and the documentation's example, which is one."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.errors import ConfigError
from bot.engine.ports import CallContext, Resumed
from bot.tools.plugins import plugin_tools
from bot.tools.registry import Registry
from tests.tools.support import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "write-your-own-tool.md"


def blocks() -> dict[str, str]:
    """Return the page's code by the file it belongs to."""
    found = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return dict(found)


def install(site: Path, entry: str, files: dict[str, str]) -> None:
    """Put a package where Python finds it, as an installer would."""
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    about = site / "askfirst_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: askfirst-example\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[askfirst.tools]\n{entry}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.setattr(sys, "path", [str(path), *sys.path])
    return path


def test_the_page_is_complete() -> None:
    assert list(blocks()) == ["askfirst_logs/__init__.py", "pyproject.toml", "test_logs.py"]


async def test_the_pages_tool_is_found_through_its_entry_point_and_works(
    site: Path, context: CallContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = blocks()
    entry = re.search(r"^logs = \"(.*)\"$", code["pyproject.toml"], re.MULTILINE)
    assert entry
    install(site, f"logs = {entry[1]}", {"askfirst_logs/__init__.py": code["askfirst_logs/__init__.py"]})
    try:
        toolbox = Registry(plugin_tools())
    finally:
        monkeypatch.delitem(sys.modules, "askfirst_logs", raising=False)
    definition = toolbox.definition("compress_logs")
    assert definition is not None
    assert definition.paths == ("path",)

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "new.log").write_text("x")
    asked = (await run(toolbox, context, "compress_logs", path="logs")).suspended
    assert [option.label for option in asked.question.options] == ["Yes, all", "No"]
    answer = Resumed(state=asked.state, answer={"by": "U1", "data": "Yes, all"})
    ran = await run(toolbox, replace(context, resumed=answer), "compress_logs", path="logs")
    assert ran.text == "new.log compressed\n1 logs compressed\n"


def test_the_pages_own_tests_pass(site: Path, tmp_path: Path) -> None:
    code = blocks()
    install(site, "", {"askfirst_logs/__init__.py": code["askfirst_logs/__init__.py"]})
    (tmp_path / "test_logs.py").write_text(code["test_logs.py"])
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "anyio", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{site}", "PYTEST_ADDOPTS": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "passed" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stdout


def test_the_page_passes_our_own_rules(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text(blocks()["askfirst_logs/__init__.py"])
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("x = no_such_module:tool", "ModuleNotFoundError"),
        ("x = json:dumps", "are neither a Tool nor a list of them"),
    ],
)
def test_what_cannot_be_loaded_stops_the_start_and_names_the_package(
    site: Path, entry: str, problem: str
) -> None:
    install(site, entry, {})
    with pytest.raises(ConfigError, match="of askfirst-example") as refused:
        plugin_tools()
    assert problem in str(refused.value)


def test_without_other_packages_there_are_no_other_tools() -> None:
    assert plugin_tools() == ()
