"""The real file system behind `Resolver`. Besides files.py the only module here that looks at the disk."""

import os
import os.path


class OsResolver:
    """Resolves on this machine; a path that does not exist yet resolves as far as it exists."""

    def resolve(self, path: str, cwd: str) -> str:
        if path[:1] == "~":
            path = os.path.expanduser(path)  # noqa: PTH111 - pathlib raises where a user has no home
        return _real(path if path[:1] == "/" else f"{cwd}/{path}")


def _joined(done: str, parts: list[str]) -> str:
    return "/".join((done, *parts))


def _real(path: str) -> str:
    """Return what os.path.realpath does, at a third of its cost where no link is met, which is the rule."""
    done = ""
    # Doubled slashes must go first: in a loop of links os.path.realpath takes one for the root.
    parts = [part for part in path.split("/") if part and part != "."]
    path = "/" + "/".join(parts)
    for place, part in enumerate(parts):
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        try:
            os.readlink(f"{done}/{part}")  # noqa: PTH115 - pathlib costs more than the look itself
        except FileNotFoundError:
            # Nothing below can be a link, unless dots lead out of it again.
            return os.path.realpath(path) if ".." in parts[place:] else _joined(done, parts[place:])
        except (OSError, ValueError):
            done = f"{done}/{part}"
        else:
            return os.path.realpath(path)
    return done or "/"
