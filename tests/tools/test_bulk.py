"""Many files at once: what is measured is what happens, and staged files come back."""

import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.tool import Planned
from bot.engine.ports import CallContext, Toolbox
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.builtin.delete import delete
from bot.tools.registry import Registry
from bot.tools.walk import Selection
from tests.tools.support import clock, make_file, preview, run

OLD, NEW = 312, 535


@pytest.fixture
def toolbox() -> Toolbox:
    return Registry(builtin_tools(clock=clock))


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """847 files, 2.3 GB, of which 312 with 0.8 GB are older than a year; and something to be left alone."""
    root = tmp_path / "ci-artifacts"
    for number in range(OLD):
        make_file(root / f"build-{number % 20}" / f"old-{number}.tmp", size=2_600_000, days_old=400 + number)
    for number in range(NEW):
        make_file(
            root / f"build-{number % 20}" / f"new-{number}.tmp", size=2_850_000, days_old=1 + number % 300
        )
    make_file(root / "build-1" / "keep.txt", text="keep me", days_old=900)
    return root


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


async def test_deleting_847_files_is_measured_with_all_its_options(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    args = {"path": str(artifacts), "pattern": "*.tmp"}
    impact = await preview(toolbox, context, "delete_files", **args)
    assert impact.summary == f"Delete 847 files (2.3 GB) in {artifacts}. Cannot be undone."
    assert (impact.count, impact.bytes, impact.reversible) == (847, 2_335_950_000, False)
    assert impact.facts == {"oldest": "2024-12-07", "newest": "2026-11-17"}
    assert impact.samples[:2] == (
        "build-0/new-0.tmp (2.9 MB, 2026-11-17)",
        "build-0/new-100.tmp (2.9 MB, 2026-08-09)",
    )
    assert len(impact.samples) == 5
    older, staged = impact.alternatives
    assert (older.label, older.consequence) == (
        "Older than 1 year (312)",
        "0.8 GB removed, 535 newer files kept",
    )
    assert older.planned == Planned(tool="delete_files", args={**args, "older_than_days": 365})
    assert older.impact is not None
    assert (older.impact.count, older.impact.bytes) == (312, 811_200_000)
    aside = str(artifacts / ".askfirst-staging")
    assert (staged.label, staged.consequence) == (
        "Move to staging (847)",
        f"nothing removed, 2.3 GB moved to {aside}, can be restored",
    )
    assert staged.planned == Planned(tool="move_files", args={**args, "to": aside})
    assert staged.impact is not None
    assert staged.impact.reversible is True


async def test_each_option_measures_the_same_when_it_is_previewed_itself(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    impact = await preview(toolbox, context, "delete_files", path=str(artifacts), pattern="*.tmp")
    for option in impact.alternatives:
        again = await toolbox.preview(option.planned, context)
        assert again is not None
        assert option.impact is not None
        assert (again.count, again.bytes) == (option.impact.count, option.impact.bytes)
        assert again.reversible == option.impact.reversible


async def test_the_scoped_option_deletes_exactly_the_old_files(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    impact = await preview(toolbox, context, "delete_files", path=str(artifacts), pattern="*.tmp")
    chosen = impact.alternatives[0].planned
    ran = await run(toolbox, context, chosen.tool, **chosen.args)
    assert (ran.status, ran.text) == ("ok", "312 files deleted, 0.8 GB freed; 0 failed.")
    left = names(artifacts)
    assert len(left) == NEW + 1
    assert not [name for name in left if "old-" in name]
    assert "build-1/keep.txt" in left


async def test_approving_all_deletes_all_that_match_and_nothing_else(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    ran = await run(toolbox, context, "delete_files", path=str(artifacts), pattern="*.tmp")
    assert ran.text == "847 files deleted, 2.3 GB freed; 0 failed."
    assert names(artifacts) == ["build-1/keep.txt"]


async def test_staged_files_come_back_as_they_were(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    before = {name: (artifacts / name).stat().st_mtime for name in names(artifacts)}
    impact = await preview(toolbox, context, "delete_files", path=str(artifacts), pattern="*.tmp")
    chosen = impact.alternatives[1].planned
    moved = await run(toolbox, context, chosen.tool, **chosen.args)
    batch = artifacts / ".askfirst-staging" / "cz6e4f7y"
    assert moved.text == (
        f"847 files (2.3 GB) moved to {batch}; 0 failed. Undo with restore_files, batch '{batch}'."
    )
    assert names(artifacts) == sorted(
        [".askfirst-staging/cz6e4f7y.json", "build-1/keep.txt"]
        + [f".askfirst-staging/cz6e4f7y/{name}" for name in before if name.endswith(".tmp")]
    )
    found = await run(toolbox, context, "find_files", path=str(artifacts))
    assert found.text.startswith("1 file, 7 bytes, in")

    back = await preview(toolbox, context, "restore_files", batch=str(batch))
    assert (back.summary, back.count) == (f"Put 847 files (2.3 GB) back to {artifacts}.", 847)
    restored = await run(toolbox, context, "restore_files", batch=str(batch))
    assert restored.text == f"847 files (2.3 GB) put back to {artifacts}; 0 failed."
    assert {name: (artifacts / name).stat().st_mtime for name in names(artifacts)} == before
    assert not (artifacts / ".askfirst-staging").exists()


async def test_restoring_never_overwrites_what_is_there_by_now(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    make_file(root / "a.txt", text="old a")
    make_file(root / "b.txt", text="old b")
    await run(toolbox, context, "move_files", path="root", to="root/.askfirst-staging")
    make_file(root / "a.txt", text="newer a")
    batch = str(root / ".askfirst-staging" / "cz6e4f7y")
    assert (await preview(toolbox, context, "restore_files", batch=batch)).summary == (
        f"Put 1 file (5 bytes) back to {root}. 1 stay in staging: something is in their place."
    )
    ran = await run(toolbox, context, "restore_files", batch=batch)
    kept = "1 left in staging because something is in their place"
    assert ran.text == f"1 file (5 bytes) put back to {root}, {kept}; 0 failed."
    assert (root / "a.txt").read_text() == "newer a"
    assert (root / "b.txt").read_text() == "old b"
    assert (Path(batch) / "a.txt").read_text() == "old a"


async def test_a_batch_elsewhere_goes_back_only_to_where_it_came_from(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    make_file(tmp_path / "root" / "a.txt", text="a")
    await run(toolbox, context, "move_files", path="root", to="elsewhere")
    batch = str(tmp_path / "elsewhere" / "cz6e4f7y")
    unsaid = await run(toolbox, context, "restore_files", batch=batch)
    assert unsaid.text == f"Say with `to` where the files go back to; {batch} says '{tmp_path / 'root'}'"
    (tmp_path / "other").mkdir()
    wrong = await run(toolbox, context, "restore_files", batch=batch, to="other")
    assert (
        wrong.text == f"The files of {batch} came from '{tmp_path / 'root'}', not from '{tmp_path / 'other'}'"
    )
    right = await run(toolbox, context, "restore_files", batch=batch, to="root")
    assert right.text == f"1 file (1 byte) put back to {tmp_path / 'root'}; 0 failed."


async def test_files_are_moved_to_another_file_system_and_back(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    if Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is not another file system here")
    file = make_file(tmp_path / "root" / "deep" / "a.txt", text="content", days_old=3)
    file.chmod(0o640)
    modified = file.stat().st_mtime_ns
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        moved = await run(toolbox, context, "move_files", path="root", to=elsewhere)
        assert moved.text.startswith("1 file (7 bytes) moved to ")
        assert not file.exists()
        batch = f"{elsewhere}/cz6e4f7y"
        back = await run(toolbox, context, "restore_files", batch=batch, to="root")
        assert back.text == f"1 file (7 bytes) put back to {tmp_path / 'root'}; 0 failed."
    assert file.read_text() == "content"
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime_ns) == (0o640, modified)


async def test_a_link_in_the_way_back_does_not_lead_files_elsewhere(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    make_file(tmp_path / "root" / "deep" / "a.txt", text="a")
    (tmp_path / "outside").mkdir()
    await run(toolbox, context, "move_files", path="root", to="root/.askfirst-staging")
    (tmp_path / "root" / "deep").rmdir()
    (tmp_path / "root" / "deep").symlink_to(tmp_path / "outside")
    batch = str(tmp_path / "root" / ".askfirst-staging" / "cz6e4f7y")
    ran = await run(toolbox, context, "restore_files", batch=batch)
    assert ran.status == "error"
    assert ran.text.endswith("- deep/a.txt: a symbolic link leads out of the directory")
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_forged_manifest_cannot_put_files_elsewhere(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    staging = tmp_path / "project" / ".askfirst-staging"
    make_file(staging / "batch" / "cron.d" / "evil", text="* * * * * root boom")
    make_file(staging / "batch.json", text='{"version": 1, "root": "/etc"}')
    ran = await run(toolbox, context, "restore_files", batch=str(staging / "batch"))
    assert ran.text == f"The files of {staging / 'batch'} came from '/etc', not from '{tmp_path / 'project'}'"


async def test_moving_into_a_directory_inside_the_moved_one_does_not_move_twice(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    make_file(tmp_path / "root" / "a.txt")
    (tmp_path / "root" / "aside").mkdir()
    again = replace(context, idempotency_key="another call")
    first = await run(toolbox, context, "move_files", path="root", to="root/aside")
    assert first.text.startswith("1 file")
    second = await run(toolbox, again, "move_files", path="root", to="root/aside")
    assert second.text == f"Nothing was moved: no file in {tmp_path / 'root'} matches."


async def test_links_lead_nowhere(toolbox: Toolbox, context: CallContext, tmp_path: Path) -> None:
    outside = make_file(tmp_path / "outside" / "precious.tmp")
    root = tmp_path / "root"
    make_file(root / "mine.tmp")
    (root / "link.tmp").symlink_to(outside)
    (root / "directory").symlink_to(outside.parent)
    assert (await preview(toolbox, context, "delete_files", path="root")).count == 1
    ran = await run(toolbox, context, "delete_files", path="root")
    assert ran.text == "1 file deleted, 0 bytes freed; 0 failed."
    assert outside.exists()
    assert (root / "link.tmp").is_symlink()


async def test_other_file_systems_are_not_entered(toolbox: Toolbox, context: CallContext) -> None:
    if not Path("/dev/shm").is_mount():
        pytest.skip("/dev/shm is not a file system of its own here")
    with tempfile.NamedTemporaryFile(dir="/dev/shm", suffix=".askfirst") as file:
        inside = await run(toolbox, context, "find_files", path="/dev/shm", pattern=Path(file.name).name)
        assert inside.text.startswith("1 file, ")
        ran = await run(toolbox, context, "find_files", path="/dev", pattern="*.askfirst")
        assert ran.text == "0 files, 0 bytes, in /dev"


@pytest.mark.parametrize("path", ["/", "/etc", "/usr", "/proc/self", "/../etc/."])
async def test_what_nobody_means_is_refused(toolbox: Toolbox, context: CallContext, path: str) -> None:
    ran = await run(toolbox, context, "delete_files", path=path, pattern="*.no-such-thing")
    assert ran.status == "error"
    assert ran.text.endswith("is too much: name a directory inside it")


async def test_more_than_max_files_touches_nothing(
    toolbox: Toolbox, context: CallContext, artifacts: Path
) -> None:
    ran = await run(toolbox, context, "delete_files", path=str(artifacts), pattern="*.tmp", max_files=846)
    assert ran.text == "Nothing was touched: 847 files match, more than max_files 846."
    assert len(names(artifacts)) == 848
    moved = await run(
        toolbox, context, "move_files", path=str(artifacts), to=str(artifacts / "x"), max_files=846
    )
    assert moved.text == "Nothing was touched: 848 files match, more than max_files 846."


async def test_one_file_can_be_named_itself(toolbox: Toolbox, context: CallContext, tmp_path: Path) -> None:
    make_file(tmp_path / "a.txt", text="a")
    make_file(tmp_path / "b.txt", text="b")
    ran = await run(toolbox, context, "delete_files", path="a.txt")
    assert ran.text == "1 file deleted, 1 byte freed; 0 failed."
    assert names(tmp_path) == ["b.txt"]


def test_what_could_not_be_deleted_is_counted_and_named() -> None:
    # A file that nobody can delete: root is told "not permitted", others "denied".
    receipt = delete(
        Selection(root=Path("/proc/self/attr"), pattern="current", now=0), None, threading.Event()
    )
    assert receipt.count == 0
    assert receipt.failures in (["current: Operation not permitted"], ["current: Permission denied"])


async def test_nothing_to_delete_says_so(toolbox: Toolbox, context: CallContext, tmp_path: Path) -> None:
    impact = await preview(toolbox, context, "delete_files", path=".", pattern="*.tmp")
    assert impact.summary == f"Nothing to delete: no file in {tmp_path} matches."
    assert (impact.count, impact.alternatives) == (0, ())


async def test_without_old_files_there_is_no_option_for_them(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    make_file(tmp_path / "a.tmp", days_old=3)
    impact = await preview(toolbox, context, "delete_files", path=".")
    assert [option.label for option in impact.alternatives] == ["Move to staging (1)"]


async def test_files_that_go_while_we_walk_are_no_failure(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    assert (await run(toolbox, context, "delete_files", path="gone")).text == (
        f"No such file or directory: {tmp_path / 'gone'}"
    )


@pytest.mark.slow
async def test_twenty_thousand_files_are_measured_in_a_moment(
    toolbox: Toolbox, context: CallContext, tmp_path: Path
) -> None:
    for directory in range(20):
        parent = tmp_path / f"{directory:03}"
        parent.mkdir()
        for number in range(1000):
            os.close(os.open(parent / f"{number:04}.tmp", os.O_CREAT | os.O_WRONLY))
    began = time.perf_counter()
    impact = await preview(toolbox, context, "delete_files", path=".")
    took = time.perf_counter() - began
    assert impact.count == 20_000
    # 100,000 files took 0.37 s when this was written; the rest is for slow machines.
    assert took < 3, took
