"""The test file system of the sample cases."""

from bot.policy.paths import LinkTable

LINKS = {"/srv/link-to-etc": "/etc", "/srv/archive/link": "/srv/db", "/srv/app/keys": "/root/.ssh"}


class TableResolver(LinkTable):
    def __init__(self) -> None:
        super().__init__(LINKS)
