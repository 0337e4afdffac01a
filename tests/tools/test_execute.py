"""Commands: real processes that behave badly, in every sandbox that works here."""

import asyncio
import os
import shlex
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.errors import ConfigError
from bot.domain.tool import Planned
from bot.engine.ports import CallContext, Progress
from bot.policy import shell
from bot.tools.builtin.execute import ExecuteSettings, execute
from bot.tools.process.run import ProcessLimits
from bot.tools.process.sandbox import Kind, Sandbox, find_sandbox
from bot.tools.registry import Registry
from tests.tools.support import preview, run

ROOT = Path(__file__).parents[2]
SANDBOXES: tuple[Kind, ...] = ("bwrap", "landlock")


def prove(text: str) -> Sequence[str] | str | None:
    """Do what the wiring does with the policy's prover."""
    proof = shell.prove(text)
    return None if isinstance(proof, shell.NotProved) else proof.argv or proof.render()


def toolbox(sandbox: Sandbox | None = None, **limits: float) -> Registry:
    settings = ExecuteSettings(
        sandbox=sandbox or Sandbox(), prove=prove, limits=replace(ProcessLimits(grace=0.5), **limits)
    )
    return Registry([execute(settings)])


@pytest.fixture(params=SANDBOXES)
async def sandbox(request: pytest.FixtureRequest, anyio_backend: str) -> Sandbox:
    try:
        return await find_sandbox(request.param)
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture
def approved(context: CallContext) -> CallContext:
    return replace(context, approved=True)


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that commands have no business in."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def listener() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


async def gone(pid: int) -> None:
    """Wait until a process is gone (or only a zombie whose parent has not looked yet)."""
    async with asyncio.timeout(5):
        while _runs(pid):
            await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


# ── What runs ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_proved_command_runs_without_a_shell(context: CallContext) -> None:
    ran = await run(toolbox(), context, "execute", command="printf '%s|' 'a b' '*' ';' '~'")
    assert (ran.status, ran.text) == ("ok", "a b|*|;|~|\nexit 0")


async def test_a_proved_pipeline_runs_as_its_canonical_text(context: CallContext) -> None:
    ran = await run(toolbox(), context, "execute", command="echo one && echo two")
    assert ran.text == "one\ntwo\nexit 0"


async def test_a_proved_builtin_runs_with_its_words_quoted(context: CallContext) -> None:
    ran = await run(toolbox(), context, "execute", command="command -v sh '*' '; echo no'")
    assert ran.text == "/usr/bin/sh\nexit 0"


async def test_what_is_not_proved_runs_only_after_approval(
    context: CallContext, approved: CallContext
) -> None:
    refused = await run(toolbox(), context, "execute", command="echo $((6 * 7))")
    assert refused.status == "error"
    assert refused.text == "Not run: a command that is not understood in full needs a person's approval."
    ran = await run(toolbox(), approved, "execute", command="echo $((6 * 7))")
    assert ran.text == "42\nexit 0"


async def test_the_exit_code_and_both_streams_are_told(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="echo out; echo err >&2; exit 3 # $")
    assert (ran.status, ran.text) == ("error", "out\nerr\nexit 3")


async def test_a_program_that_is_not_there_is_told_as_shells_do(context: CallContext) -> None:
    ran = await run(toolbox(), context, "execute", command="no-such-program --help")
    assert (ran.status, ran.text) == ("error", "no-such-program: No such file or directory\nexit 127")


async def test_a_process_that_dies_of_a_signal_is_told(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="kill -SEGV $$")
    assert ran.text == "exit 139"


async def test_the_environment_is_fixed_and_holds_nothing_of_ours(
    context: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-bot")
    monkeypatch.setenv("LD_PRELOAD", "")
    ran = await run(toolbox(), context, "execute", command="env")
    names = sorted(line.partition("=")[0] for line in ran.text.splitlines() if "=" in line)
    assert names == [
        "GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "HOME", "LANG",
        "PAGER", "PATH", "SYSTEMD_PAGER", "TERM", "TMPDIR",
    ]  # fmt: skip


async def test_there_is_no_terminal_and_no_input(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="cat; tty; echo $(cat /dev/tty 2>&1)")
    assert "not a tty" in ran.text
    assert "/dev/tty: No such device or address" in ran.text


async def test_it_starts_in_the_directory_that_was_asked_for(context: CallContext, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert (await run(toolbox(), context, "execute", command="pwd")).text == f"{tmp_path}\nexit 0"
    assert (
        await run(toolbox(), context, "execute", command="pwd", cwd="sub")
    ).text == f"{tmp_path}/sub\nexit 0"
    missing = await run(toolbox(), context, "execute", command="pwd", cwd="nowhere")
    assert missing.text == f"No such file or directory: {tmp_path}/nowhere"


async def test_home_is_private_and_gone_afterwards(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="echo x > $HOME/left; echo $HOME $TMPDIR")
    home, temporary = ran.text.splitlines()[0].split()
    assert home == temporary
    assert not Path(home).exists()


async def test_the_preview_tells_what_runs_where_and_how_confined(
    context: CallContext, tmp_path: Path
) -> None:
    impact = await preview(toolbox(), context, "execute", command="ls -l 'a b'")
    assert impact.facts == {
        "directory": str(tmp_path),
        "runs as": "ls -l 'a b'",
        "sandbox": "not sandboxed: the command can do whatever the bot's user can",
        "network": "not restricted",
    }
    unproved = await preview(toolbox(Sandbox(kind="bwrap")), context, "execute", command="echo $X")
    assert unproved.facts["runs as"] == "shell text, not understood in full"
    assert (unproved.facts["sandbox"], unproved.facts["network"]) == ("bwrap", "off")


# ── What behaves badly ───────────────────────────────────────────────────────────────────────────────────


async def test_output_is_shown_while_the_command_runs(approved: CallContext, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    planned = Planned(tool="execute", args={"command": "echo first; cat go; echo $X last"})
    events = toolbox().execute(planned, approved)
    assert await anext(events) == Progress(text="first\n")
    # Only now does the command get what it waits for: the line above was not held back.
    (tmp_path / "go").write_text("")
    rest = [event async for event in events]
    assert Progress(text=" last\n") in rest or Progress(text="last\n") in rest


async def test_a_command_that_hangs_is_stopped_and_keeps_what_it_said(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="echo before; sleep 1000 # $", timeout=0.5)
    assert (ran.status, ran.text) == ("error", "before\nstopped: it ran longer than 0.5 s")


async def test_a_command_that_closes_its_output_and_goes_on_is_stopped_too(approved: CallContext) -> None:
    ran = await run(toolbox(), approved, "execute", command="exec >&- 2>&-; sleep 1000 # $", timeout=0.5)
    assert ran.text == "stopped: it ran longer than 0.5 s"


async def test_a_command_that_ignores_sigterm_is_killed(approved: CallContext) -> None:
    ran = await run(
        toolbox(),
        approved,
        "execute",
        command="trap '' TERM; echo $$; while :; do sleep 1; done",
        timeout=0.5,
    )
    assert ran.text.endswith("stopped: it ran longer than 0.5 s")
    await gone(int(ran.text.split()[0]))


async def test_a_flood_is_stopped_and_cut(approved: CallContext) -> None:
    ran = await run(toolbox(output=2 * 1024**2), approved, "execute", command="yes $X flood")
    assert ran.status == "error"
    assert ran.text.endswith("stopped: it wrote more than 2 MB")
    assert "characters left out" in ran.text
    assert len(ran.text) < 45_000
    assert len(ran.progress) <= 40_000


async def test_what_a_command_leaves_behind_ends_with_it(approved: CallContext) -> None:
    # Three ways out of a process group: background, setsid, double fork.
    script = (
        "sleep 1000 & echo $!; setsid sleep 1000 & echo $!;"
        "( ( setsid sh -c 'echo $$; exec sleep 1000' & ) & ); sleep 0.2"
    )
    ran = await run(toolbox(), approved, "execute", command=script)
    *pids, last = ran.text.splitlines()
    assert last == "exit 0"
    assert len(pids) == 3
    for pid in pids:
        await gone(int(pid))


async def test_a_hundred_forks_that_ignore_signals_are_all_ended(approved: CallContext) -> None:
    script = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for _ in range(100):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); time.sleep(1000)\n"
        "print(os.getpid(), flush=True); time.sleep(1000)\n"
    )
    command = f"{sys.executable} -I -S -c {shlex.quote(script)} # $"
    ran = await run(toolbox(), approved, "execute", command=command, timeout=2)
    assert ran.text.endswith("stopped: it ran longer than 2 s")
    await gone(int(ran.text.split()[0]))
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"time.sleep(1000)" in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


async def test_whoever_stops_listening_ends_the_command(approved: CallContext) -> None:
    planned = Planned(tool="execute", args={"command": "echo $$; exec sleep 1000"})
    events = toolbox().execute(planned, approved)
    first = await anext(events)
    assert isinstance(first, Progress)
    await events.aclose()
    await gone(int(first.text))


async def test_cancelling_the_run_ends_the_command(approved: CallContext, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    async with asyncio.TaskGroup() as group:
        command = "echo $$ > pid; exec sleep 1000"
        task = group.create_task(run(toolbox(), approved, "execute", command=command))
        pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        task.cancel()
    assert task.cancelled()
    await gone(pid)


async def test_a_command_does_not_outlive_a_bot_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "like_the_bot.py"
    script.write_text(
        "import asyncio\n"
        "from bot.tools.process.run import Command, stream\n"
        "async def main():\n"
        "    command = Command(argv=('sh', '-c', 'echo $$; setsid sleep 1000 & sleep 1000'), cwd='/',\n"
        "        environment={'PATH': '/usr/bin:/bin'})\n"
        "    async for event in stream(command): print(event, end='', flush=True)\n"
        "asyncio.run(main())\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    bot = await asyncio.create_subprocess_exec(
        sys.executable, str(script), stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert bot.stdout
    command = int(await bot.stdout.readline())
    children = Path(f"/proc/{command}/task/{command}/children")
    while len(children.read_text().split()) < 2:
        await asyncio.sleep(0.01)
    sleepers = [int(pid) for pid in children.read_text().split()]
    bot.kill()
    await bot.communicate()
    for pid in (command, *sleepers):
        await gone(pid)


async def test_memory_is_limited(approved: CallContext) -> None:
    command = f"{sys.executable} -I -S -c 'x = bytearray(1024**3)' # $"
    ran = await run(toolbox(memory=256 * 1024**2), approved, "execute", command=command)
    assert ran.status == "error"
    assert "MemoryError" in ran.text


async def test_cpu_time_and_file_size_are_limited(approved: CallContext) -> None:
    spinning = await run(toolbox(cpu_seconds=1), approved, "execute", command="while :; do :; done # $")
    assert spinning.text == "exit 137"
    writing = await run(
        toolbox(file_size=1000), approved, "execute", command="head -c 5000 /dev/zero > $HOME/f"
    )
    assert writing.text.endswith("exit 153")


# ── What is out of reach ─────────────────────────────────────────────────────────────────────────────────


async def test_inside_the_sandbox_the_working_directory_can_be_used(
    sandbox: Sandbox, approved: CallContext, tmp_path: Path
) -> None:
    command = "echo hi > made; mkdir d; mv made d/; cat d/made; git init -q . && git status --short # $"
    ran = await run(toolbox(sandbox), approved, "execute", command=command)
    assert ran.text == "hi\n?? d/\nexit 0"
    assert (tmp_path / "d" / "made").read_text() == "hi\n"


@pytest.mark.parametrize(
    "escape",
    [
        "echo x > {outside}/new",
        "cat {outside}/secret",
        "rm {outside}/secret",
        "ln -s {outside} way && cat way/secret",
        "mkdir -p a/b && cat a/b/../../../{name}/secret",
        "echo x > /etc/askfirst-was-here",
        "echo x >> /usr/bin/true",
        "ls -A ~root | grep .",
        "cat /proc/{bot}/environ",
        "cat /proc/{bot}/root{outside}/secret",
        "ls /proc/{bot}/cwd/",
        "kill -9 {bot}",
        "mount -t tmpfs none /mnt",
        "mknod disk b 8 0",
        "unshare -Ur mount -t tmpfs none /mnt",
        "cat /run/*/* /var/run/*/*",
        "bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'",
        "bash -c 'exec 3<>/dev/tcp/localhost/{port}; echo x >&3'",
    ],
)
async def test_escapes_fail(
    sandbox: Sandbox, approved: CallContext, outside: Path, listener: int, escape: str
) -> None:
    (outside / "secret").write_text("the secret")
    # A process like the bot: same user, a secret in its environment.
    bot = await asyncio.create_subprocess_exec("sleep", "60", env={"TOKEN": "the secret"}, cwd=outside)
    try:
        command = escape.format(outside=outside, name=outside.name, bot=bot.pid, port=listener)
        ran = await run(toolbox(sandbox), approved, "execute", command=f"{command} # $", timeout=20)
        assert bot.returncode is None
    finally:
        bot.kill()
        await bot.wait()
    assert ran.status == "error", ran.text
    assert "the secret" not in ran.text
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert not Path("/etc/askfirst-was-here").exists()


async def test_a_command_that_starts_at_the_root_cannot_write_the_system(
    sandbox: Sandbox, approved: CallContext
) -> None:
    for where in ("/", "/var", "/etc"):
        elsewhere = replace(approved, cwd=where)
        ran = await run(toolbox(sandbox), elsewhere, "execute", command="echo x > askfirst-was-here # $")
        assert ran.status == "error", ran.text
        assert not (Path(where) / "askfirst-was-here").exists()


async def test_a_command_that_starts_at_a_hidden_place_finds_nothing_there(
    sandbox: Sandbox, approved: CallContext, tmp_path: Path
) -> None:
    (tmp_path / "id_rsa").write_text("the secret")
    hiding = replace(sandbox, hidden=(*sandbox.hidden, str(tmp_path)))
    ran = await run(toolbox(hiding), approved, "execute", command="cat id_rsa")
    assert ran.status == "error"
    assert "the secret" not in ran.text


async def test_the_network_is_there_only_if_it_was_asked_for_and_approved(
    sandbox: Sandbox, context: CallContext, approved: CallContext, listener: int
) -> None:
    command = f"bash -c 'echo x > /dev/tcp/127.0.0.1/{listener}'"
    off = await run(toolbox(sandbox), approved, "execute", command=command)
    assert off.status == "error"
    unapproved = await run(toolbox(sandbox), context, "execute", command=command, network=True)
    assert unapproved.text == "Not run: a command with network needs a person's approval."
    on = await run(toolbox(sandbox), approved, "execute", command=command, network=True)
    assert (on.status, on.text) == ("ok", "exit 0")


async def test_configured_directories_are_writable_and_hidden_ones_are_not_there(
    approved: CallContext, outside: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hidden = tmp_path_factory.mktemp("hidden")
    (hidden / "secret").write_text("x")
    for kind in SANDBOXES:
        try:
            sandbox = await find_sandbox(kind, writable=[str(outside)], hidden=[str(hidden)])
        except ConfigError:
            continue
        ran = await run(toolbox(sandbox), approved, "execute", command=f"echo {kind} > {outside}/f # $")
        assert ran.text == "exit 0"
        assert (outside / "f").read_text() == f"{kind}\n"
        assert (
            await run(toolbox(sandbox), approved, "execute", command=f"cat {hidden}/secret")
        ).status == "error"


async def test_a_secret_inside_the_working_directory_can_be_hidden(
    approved: CallContext, tmp_path: Path, outside: Path
) -> None:
    (tmp_path / ".env").write_text("the secret")
    (tmp_path / "src").mkdir()
    (tmp_path / "way").symlink_to(outside)
    for kind in SANDBOXES:
        try:
            sandbox = await find_sandbox(kind, hidden=[str(tmp_path / ".env")])
        except ConfigError:
            continue
        box = toolbox(sandbox)
        assert "the secret" not in (await run(box, approved, "execute", command="cat .env")).text
        await run(box, approved, "execute", command="echo overwritten > .env # $")
        await run(box, approved, "execute", command="rm -f .env; mv .env away; ln -f .env link # $")
        assert (tmp_path / ".env").read_text() == "the secret"
        ran = await run(box, approved, "execute", command="echo x > src/made && ls -A # $")
        assert (ran.status, ran.text) == ("ok", ".env\nsrc\nway\nexit 0")
        # Next to a hidden path, Landlock needs a list of what is allowed. A link must not get on it.
        through = await run(box, approved, "execute", command="echo x > way/made # $")
        assert through.status == "error"
        assert list(outside.iterdir()) == []


async def test_a_sandbox_that_does_not_work_is_an_error_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.tools.process.sandbox.PATH", "/nowhere")
    with pytest.raises(ConfigError, match="no sandbox works here \\(bwrap: bwrap is not installed\\)"):
        await find_sandbox("bwrap")


async def test_auto_finds_something_and_none_warns() -> None:
    assert Sandbox(kind="landlock", abi=3).warning.startswith("landlock without network rules")
    assert Sandbox(kind="landlock", abi=4).warning == ""
    assert (await find_sandbox("auto")).kind in {"bwrap", "landlock", "none"}
    assert (await find_sandbox("none")).warning.startswith("not sandboxed")
