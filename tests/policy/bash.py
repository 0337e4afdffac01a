"""The real bash as an oracle: what does a text execute, word for word?"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from bot.policy.shell import Proof

# Every builtin and every unknown name becomes a function that writes down its words, so that nothing can happen
# and nothing is missed. `builtin` itself must stay, and with it what the loop is made of.
_HARNESS = r"""
enable -n enable 2>/dev/null
exec 8</dev/null 9>>"$RECORD"
record() {
  local line  # written at once and without a newline inside, so that the ends of a pipe do not mix
  builtin printf -v line '%s\x1f' "$@"
  builtin printf '%s\n' "${line//$'\n'/$'\x1e'}" >&9
}
command_not_found_handle() { record "$@"; }
for name in $(compgen -b); do
  case $name in builtin|printf|local) ;; *) builtin eval "function $name { record $name \"\$@\"; }" ;; esac
done
for name in ls cat evil git find grep; do builtin eval "function $name { record $name \"\$@\"; }"; done
while IFS= builtin read -r -d '' text; do
  builtin eval -- "$text" <&8 >/dev/null 2>&1
  builtin printf '\x02\n' >&9
done < "$TEXTS"
"""

_STUB = r"""#!/bin/bash
printf -v line '%s\x1f' "${0##*/}" "$@"
printf '%s\n' "${line//$'\n'/$'\x1e'}" >> "$RECORD"
"""


def executed(texts: Sequence[str], directory: Path) -> list[list[tuple[str, ...]]]:
    """Return, for each text, the argv of every command bash ran; the order inside pipelines is not kept."""
    record, source = directory / "record", directory / "texts"
    record.write_bytes(b"")
    source.write_bytes(b"".join(text.encode() + b"\0" for text in texts))
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", _HARNESS],
        env={
            "RECORD": str(record),
            "TEXTS": str(source),
            "PATH": "/nowhere",
            "HOME": "/home/x",
            "LC_ALL": "C.UTF-8",
        },
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return _decoded(record.read_bytes().decode("utf-8", "surrogateescape"))


def executed_for_real(text: str, directory: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The same for one text, with programs on a PATH and a fresh `bash -c`, as the bot runs commands."""
    record, programs = directory / "record", directory / "bin"
    record.write_bytes(b"")
    if not programs.exists():
        programs.mkdir()
        for name in names:
            stub = programs / name
            stub.write_text(_STUB, encoding="utf-8")
            stub.chmod(0o755)
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", text],
        env={"RECORD": str(record), "PATH": str(programs)},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    return _decoded(record.read_bytes().decode("utf-8", "surrogateescape") + "\x02\n")[0]


def _decoded(recorded: str) -> list[list[tuple[str, ...]]]:
    runs: list[list[tuple[str, ...]]] = [[]]
    for line in recorded.split("\n")[:-1]:
        if line == "\x02":
            runs.append([])
        else:
            runs[-1].append(tuple(word.replace("\x1e", "\n") for word in line.split("\x1f")[:-1]))
    return [sorted(run) for run in runs[:-1]]


def predicted(proof: Proof) -> list[tuple[str, ...]]:
    """Return what runs if every command succeeds."""
    ran: list[tuple[str, ...]] = []
    for step in proof.steps:
        if step.joint != "||" or not ran:
            ran += [simple.argv for simple in step.pipeline]
    return sorted(ran)


def bash_is_there() -> bool:
    return Path("/bin/bash").exists()
