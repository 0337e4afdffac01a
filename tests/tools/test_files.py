"""Finding, reading and writing files, on real ones."""

import os
from pathlib import Path
from typing import Any

import pytest

from bot.engine.ports import CallContext, Toolbox
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.glob import matcher
from bot.tools.registry import Registry
from bot.tools.words import size
from tests.tools.support import clock, make_file, preview, run


@pytest.fixture
def toolbox() -> Toolbox:
    return Registry(builtin_tools(clock=clock))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_file(tmp_path / "a.log", text="started\nERROR disk full\n", days_old=10)
    make_file(tmp_path / "b.log", text="all is well\n", days_old=400)
    make_file(tmp_path / "deep" / "er" / "c.tmp", size=3000, days_old=5)
    return tmp_path


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({}, ["a.log", "b.log", "deep/er/c.tmp"]),
        ({"pattern": "*.log"}, ["a.log", "b.log"]),
        ({"pattern": "deep/**/*.tmp"}, ["deep/er/c.tmp"]),
        ({"pattern": "*/c.tmp"}, []),
        ({"older_than_days": 365}, ["b.log"]),
        ({"older_than_days": 10}, ["a.log", "b.log"]),
        ({"larger_than_bytes": 1000}, ["deep/er/c.tmp"]),
        ({"contains": "ERROR"}, ["a.log"]),
        ({"contains": "ERROR", "older_than_days": 30}, []),
    ],
)
async def test_files_are_found_by_name_age_size_and_content(
    toolbox: Toolbox, context: CallContext, tree: Path, args: dict[str, Any], found: list[str]
) -> None:
    ran = await run(toolbox, context, "find_files", path=".", **args)
    assert [line.split()[-1] for line in ran.text.splitlines()[1:]] == found


async def test_a_listing_has_totals_first_and_says_how_much_it_leaves_out(
    toolbox: Toolbox, context: CallContext, tree: Path
) -> None:
    ran = await run(toolbox, context, "find_files", path=".", limit=1)
    assert ran.text == (
        f"3 files, 3 KB, in {tree}\n"
        "          24  2026-11-08 12:00  a.log\n"
        "… 2 more; narrow the search or raise limit"
    )


async def test_content_is_found_across_the_blocks_it_is_read_in(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "big").write_bytes(b"x" * ((1 << 20) - 3) + b"needle" + b"y" * 100)
    ran = await run(toolbox, context, "find_files", path=".", contains="needle")
    assert ran.text.startswith("1 file")


async def test_a_file_is_read_in_part_and_says_how_to_go_on(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    assert (await run(toolbox, context, "read_file", path="f", start_line=9)).text == "line 9\nline 10\n"
    part = await run(toolbox, context, "read_file", path="f", start_line=4, max_lines=2)
    assert part.text == "line 4\nline 5\n… more lines follow; go on with start_line=6"
    assert (await run(toolbox, context, "read_file", path="f", start_line=12)).text == (
        f"{tmp_path / 'f'} has only 10 lines"
    )


async def test_what_is_not_text_is_described(toolbox: Toolbox, context: CallContext, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"ELF\0\1\2")
    (tmp_path / "empty").touch()
    (tmp_path / "long").write_text("x" * 5000)
    os.mkfifo(tmp_path / "pipe")
    assert (await run(toolbox, context, "read_file", path="binary")).text == (
        f"{tmp_path / 'binary'} is a binary file of 6 bytes; its content is not shown"
    )
    assert (await run(toolbox, context, "read_file", path="empty")).text == f"{tmp_path / 'empty'} is empty"
    assert (await run(toolbox, context, "read_file", path="long")).text == (
        "x" * 2000 + "… 3,000 bytes of this line left out\n"
    )
    # Opening a pipe for reading would wait for a writer for ever.
    assert (await run(toolbox, context, "read_file", path="pipe")).text == (
        f"{tmp_path / 'pipe'} is not a regular file"
    )


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nowhere", "No such file or directory: {cwd}/nowhere"),
        (".", "{cwd} is not a regular file"),
        ("~/.ssh/id_rsa", "'~/.ssh/id_rsa': '~' is not expanded here; give the full path"),
    ],
)
async def test_a_file_that_cannot_be_read_is_an_error_in_words(
    toolbox: Toolbox, context: CallContext, path: str, problem: str
) -> None:
    ran = await run(toolbox, context, "read_file", path=path)
    assert (ran.status, ran.text) == ("error", problem.format(cwd=context.cwd))


async def test_the_preview_of_a_write_is_a_diff_bound_to_the_present_content(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    path = tmp_path / "app.conf"
    path.write_text("port = 80\nhost = a\n")
    impact = await preview(toolbox, context, "write_file", path="app.conf", content="port = 81\nhost = a\n")
    assert impact.summary == f"Replace {path} (19 bytes). The present content is not kept."
    assert impact.detail == f"--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n-port = 80\n+port = 81\n host = a"
    assert impact.reversible is False
    assert impact.facts == {"size before": "19 bytes", "size after": "19 bytes"}
    path.write_text("port = 443\nhost = a\n")
    again = await preview(toolbox, context, "write_file", path="app.conf", content="port = 81\nhost = a\n")
    assert again.fingerprint != impact.fingerprint


async def test_a_new_file_is_reversible_and_absent_is_its_fingerprint(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    impact = await preview(toolbox, context, "write_file", path="new/app.conf", content="x\n")
    assert (impact.fingerprint, impact.reversible) == ("absent", True)
    assert impact.summary == f"Create {tmp_path / 'new/app.conf'} (2 bytes)."
    assert impact.facts == {"creates directory": str(tmp_path / "new"), "size after": "2 bytes"}
    ran = await run(toolbox, context, "write_file", path="new/app.conf", content="x\n")
    assert ran.text == f"Created {tmp_path / 'new/app.conf'} with 2 bytes."
    assert (tmp_path / "new/app.conf").read_text() == "x\n"


async def test_append_and_create_do_what_they_say(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("one\n")
    (tmp_path / "f").chmod(0o640)
    appended = await run(toolbox, context, "write_file", path="f", content="two\n", mode="append")
    assert appended.text == f"Appended 4 bytes to {tmp_path / 'f'}."
    assert (tmp_path / "f").read_text() == "one\ntwo\n"
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
    refused = await run(toolbox, context, "write_file", path="f", content="", mode="create")
    assert refused.text == "f exists already; use mode replace or append to change it"
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


async def test_a_large_file_is_bound_by_its_state_and_not_read(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    path = make_file(tmp_path / "big", size=40_000_000_000)
    impact = await preview(toolbox, context, "write_file", path="big", content="x", mode="append")
    assert impact.summary == f"Append to {path} (40 GB)."
    assert impact.detail == "Too large to show what changes."
    os.truncate(path, 40_000_000_001)
    again = await preview(toolbox, context, "write_file", path="big", content="x", mode="append")
    assert again.fingerprint != impact.fingerprint


async def test_a_file_that_is_one_endless_line_is_read_in_bounded_memory(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    with (tmp_path / "line").open("w") as file:
        file.write("x" * 10_000)
        file.write("\nshort\n")
    ran = await run(toolbox, context, "read_file", path="line")
    assert ran.text == "x" * 2000 + "… 8,001 bytes of this line left out\nshort\n"


async def test_writing_through_a_link_changes_what_it_points_to(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    await run(toolbox, context, "write_file", path="link", content="new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.tmp", "a/b/c.tmp", True),
        ("*.tmp", "a/b/c.tmp.gz", False),
        ("build/**/*.o", "build/x.o", True),
        ("build/**/*.o", "build/a/b/x.o", True),
        ("build/*.o", "build/a/x.o", False),
        ("[!a]*", "abc", False),
        ("[ab]?", "b1", True),
        ("a[", "a[", True),
        ("(x|y).txt", "x.txt", False),
        ("**", "any/thing", True),
        (".*", "a/.hidden", True),
    ],
)
def test_patterns_read_as_shells_write_them(pattern: str, path: str, matches: bool) -> None:
    assert matcher(pattern)(path.rpartition("/")[2], path) is matches


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (499, "499 bytes"),
        (512, "0.5 KB"),
        (800_000_000, "0.8 GB"),
        (2_340_000_000, "2.3 GB"),
    ],
)
def test_sizes_read_as_people_say_them(count: int, text: str) -> None:
    assert size(count) == text
