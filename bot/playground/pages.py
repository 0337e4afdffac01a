"""The page and its few files, served as they are: no build, nothing from elsewhere, no inline script."""

from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path

from aiohttp import web

_FILES = Path(str(resources.files("bot.playground"))) / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
#: Trusted Types make the browser itself refuse `innerHTML` and its relatives.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[web.RouteDef]:
    """Return a route for each file of the page; anything else does not exist."""
    names = [
        path.relative_to(_FILES).as_posix() for path in sorted(_FILES.rglob("*")) if path.suffix in _TYPES
    ]
    return [web.get("/" if name == "index.html" else f"/{name}", _file(name)) for name in names]


def _file(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    path = _FILES / name
    body, kind = path.read_bytes(), _TYPES[path.suffix]

    async def serve(_request: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=HEADERS)

    return serve
