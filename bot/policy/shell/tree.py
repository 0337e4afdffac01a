"""What tree-sitter-bash sees. It is wrong about some texts, so it is only ever added to other readings."""

from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from bot.policy.shell.scan import Reading
from bot.policy.shell.words import unquote

_PARSER = Parser(Language(tree_sitter_bash.language()))


def parsed(text: str) -> list[Reading]:
    root = _PARSER.parse(text.encode("utf-8", "replace")).root_node
    found: list[Reading] = []
    stack: list[tuple[Node, bool, tuple[str, ...]]] = [(root, False, ())]
    while stack:
        node, piped, redirects = stack.pop()
        if node.type == "command":
            found.append(
                Reading(words=tuple(_words(node)), piped=piped, redirects=(*redirects, *_targets(node)))
            )
        if node.type == "redirected_statement":
            redirects = tuple(_targets(node))
        for place, child in enumerate(node.named_children):
            after_pipe = piped if node.type != "pipeline" else place > 0 or piped
            stack.append((child, after_pipe and child.type not in {"command_name", "string"}, redirects))
    return found


def _words(node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type not in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
            yield unquote((child.text or b"").decode("utf-8", "replace"))


def _targets(node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type in {"file_redirect", "herestring_redirect"}:
            for target in child.named_children:
                yield unquote((target.text or b"").decode("utf-8", "replace"))
