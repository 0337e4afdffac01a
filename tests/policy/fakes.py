"""A file system in a table."""

from collections.abc import Mapping

from bot.policy.paths import lexical

#: The test file system of the sample cases.
LINKS = {"/srv/link-to-etc": "/etc", "/srv/archive/link": "/srv/db", "/srv/app/keys": "/root/.ssh"}


class TableResolver:
    """Follows the links it was told of, component by component, as the kernel would."""

    def __init__(self, links: Mapping[str, str] = LINKS, home: str = "/home/bot") -> None:
        self.links = links
        self.home = home

    def resolve(self, path: str, cwd: str) -> str:
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        done = "/"
        full = path if path.startswith("/") else f"{cwd}/{path}"
        pending = list(reversed(full.split("/")))
        for _ in range(1000):
            if not pending:
                return done
            part = pending.pop()
            if part == "..":
                done = done.rpartition("/")[0] or "/"
            elif part not in {"", "."}:
                step = lexical(part, done)
                if step in self.links:
                    pending += reversed(self.links[step].split("/"))
                    done = "/" if self.links[step].startswith("/") else done
                else:
                    done = step
        return done
