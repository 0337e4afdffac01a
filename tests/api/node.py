"""Node and its packages for tests: installed once a version of `package.json`, shared by all workers."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "js"
#: Outside the tests' folders, so that nothing installed is ever collected, linted or committed.
CACHE = Path(os.environ.get("ASKFIRST_JS_CACHE", Path(__file__).parents[2] / ".cache" / "js"))


def missing(what: str) -> None:
    """Skip with a reason; in CI everything is there, so there it is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, but CI is to have it (see .ci/run)")
    pytest.skip(f"{what} is missing")


def installed(name: str) -> Path:
    """The folder of `js/<name>` with its packages installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        missing("node with npm")
    source = HERE / name
    key = hashlib.sha256((source / "package.json").read_bytes()).hexdigest()[:12]
    folder = CACHE / f"{name}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            shutil.copy(source / "package.json", folder)
            # No lock file: it would record where the packages were downloaded from. Versions are exact.
            command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                missing(f"npm packages ({done.stderr.strip().splitlines()[-1:]})")
            (folder / ".installed").touch()
        for file in source.iterdir():
            shutil.copy(file, folder)
    return folder


async def node(folder: Path, script: str, *arguments: str) -> str:
    """Run a script and return what it printed."""
    process = await asyncio.create_subprocess_exec(
        "node", script, *arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return out.decode()


if __name__ == "__main__":
    # For CI, so that no test's time limit pays for a download.
    for each in ("client", "page"):
        print(installed(each))
