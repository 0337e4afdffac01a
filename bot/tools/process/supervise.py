"""The small process between the bot and a command.

Run as `python -I -S supervise.py PARENT GRACE RLIMIT_CPU=300,… LANDLOCK-RULES COMMAND…`; the rules are JSON
or empty.

Why not `preexec_fn`: it runs Python between fork and exec in a process with threads, which may deadlock. Why
not only `killpg`: a command that calls setsid leaves its group and would live on. This process is a *child
subreaper*: whatever the command starts, however often it forks away, stays below it, is found and ended.

It ends everything below itself when the command exits, when it gets SIGTERM, and when the bot dies. It knows
nothing of the bot and imports only the standard library (and py_landlock, if told to).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time

# Every import counts, since each command waits for them: json and typing alone would double the 12 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
#: As shells have it: 126 could not be started, 127 was not found.
_NOT_STARTED, _NOT_FOUND = 126, 127


def main(parent: int, grace: float, limits: str, rules: str, argv: list[str]) -> int:
    """Run `argv` within its limits and return its exit code, 128 + n if it died of signal n."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        return _NOT_STARTED  # the bot died before we asked to be told
    # Blocked and waited for, rather than handled: no code runs in between.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = os.fork()
    if child == 0:
        _become(argv, limits, rules, libc)
    status = _wait(child)
    # The command may have ended well and left others behind; they end as well.
    last = _end_all(grace=grace if status is None else min(0.2, grace), child=child)
    status = last if status is None else status
    return _NOT_STARTED if status is None else _exit_code(status)


def _become(argv: list[str], limits: str, rules: str, libc: ctypes.CDLL) -> NoReturn:
    """Turn into the command: own session, limits, confinement, exec."""
    try:
        os.setsid()
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        for limit in limits.split(","):
            name, _, value = limit.partition("=")
            _limit(getattr(resource, name), int(value))
        if rules:
            _confine(rules, libc)
        # Python ignores these two, and an ignored signal stays ignored after exec.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.execvp(argv[0], argv)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 (a forked copy must never return into the caller's code)
        what = error.strerror if isinstance(error, OSError) else repr(error)
        os.write(2, f"{argv[0]}: {what}\n".encode())
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED)


def _limit(which: int, value: int) -> None:
    _, most = resource.getrlimit(which)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(which, (value, value))


def _confine(text: str, libc: ctypes.CDLL) -> None:
    import json  # noqa: PLC0415

    rules = json.loads(text)
    sys.path.append(rules["site"])
    from py_landlock import AccessFs, Landlock  # noqa: PLC0415 (only here is it needed, and it costs 20 ms)

    # For root only: with its capabilities it could still read the memory of others (mm_access asks for
    # CAP_PERFMON before it asks Landlock), and with it the secrets in the bot's environment.
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)

    reads = AccessFs.READ_FILE | AccessFs.READ_DIR | AccessFs.EXECUTE
    # All there are but devices: the ioctl right, and making device files.
    writes = ~(AccessFs.IOCTL_DEV | AccessFs.MAKE_CHAR | AccessFs.MAKE_BLOCK) & AccessFs((1 << 16) - 1)
    devices = AccessFs.READ_FILE | AccessFs.WRITE_FILE
    # Not strict: an older kernel restricts less, and the probe has told the operator what it can do.
    landlock = Landlock(strict=False)
    granted = (
        (rules["read"], reads),
        (rules["list"], AccessFs.READ_DIR),
        (rules["write"], writes),
        (rules["devices"], devices),
    )
    for paths, access in granted:
        for path in paths:
            if os.path.exists(path):  # noqa: PTH110 (pathlib is not imported here)
                file_only = access & (devices | AccessFs.EXECUTE | AccessFs.TRUNCATE)
                landlock.add_path_rule(path, access=access if os.path.isdir(path) else file_only)  # noqa: PTH112
    if rules["network"]:
        landlock.allow_all_network()
    landlock.apply()


def _wait(child: int) -> int | None:
    """Wait until the command ends; None if we are to end it."""
    while True:
        received = signal.sigwait(_SIGNALS)
        for pid, status in _reaped():
            if pid == child:
                return status
        if received != signal.SIGCHLD:
            return None


def _end_all(*, grace: float, child: int) -> int | None:
    """End everything below this process, politely first; return the command's status if it was among them."""
    last: int | None = None
    deadline = time.monotonic() + grace
    _signal_all(signal.SIGTERM)
    while True:
        for pid, status in _reaped():
            last = status if pid == child else last
        if not _below():
            return last
        if time.monotonic() >= deadline:
            # Stopped first, so that nothing forks while we go through the list.
            _signal_all(signal.SIGSTOP)
            _signal_all(signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, 0.02)


def _reaped() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def _signal_all(number: int) -> None:
    for pid in _below():
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            pass  # became another user: only possible where no_new_privs is not


def _below() -> list[int]:
    """Return all processes below this one that still run."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (pathlib is not imported here)
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state not in (b"Z", b"X"):
                parents[int(name)] = int(parent)
    me = os.getpid()
    return [pid for pid in parents if _descends(pid, me, parents)]


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    seen = 0
    while (parent := parents.get(pid)) is not None and seen < 10_000:
        if parent == ancestor:
            return True
        pid, seen = parent, seen + 1
    return False


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    _, _parent, _grace, _limits, _rules, *_argv = sys.argv
    sys.exit(main(int(_parent), float(_grace), _limits, _rules, _argv))
