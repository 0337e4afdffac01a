"""Files to play with: a few to read, and many old ones that ask to be cleaned up."""

import os
import time
from pathlib import Path

_DAY = 86_400
_TEXTS = {
    "notes.txt": "Remember: the March builds are still needed.\n",
    "a.txt": "alpha\nbeta\n",
    "b.txt": "alpha\ngamma\n",
    "config/service.toml": '[service]\nname = "api"\nport = 8080\n',
}


def fill_scratch(folder: Path, *, count: int = 847, old: int = 312) -> None:
    """Create `count` test artifacts, `old` of them older than a year, and some files worth reading."""
    for name, text in _TEXTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    artifacts = folder / "ci-artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    now = time.time()
    # 2.3 GB in all, as sparse files: they take no room on the disk.
    size = 2_340_000_000 // count
    for number in range(count):
        path = artifacts / f"test_{number:04d}.tmp"
        with path.open("wb") as file:
            file.truncate(size)
        age = (400 + number % 300 if number < old else 30 + number % 300) * _DAY
        os.utime(path, (now - age, now - age))
