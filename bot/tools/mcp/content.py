"""What a server answers, as text for the model. Pure."""

import json

from mcp.types import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from bot.tools.tool import Output
from bot.tools.words import size


def output(result: CallToolResult) -> Output:
    parts = [_text(block) for block in result.content]
    if not parts and result.structured_content is not None:
        # Servers should repeat structured content as text; not all do.
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return Output(text="\n".join(parts) or "(no output)", status="error" if result.is_error else "ok")


def _text(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text, uri=uri)):
            return f"[{uri}]\n{text}"
        case EmbeddedResource(resource=resource):
            return f"[{resource.uri}: binary, not shown]"
        case ResourceLink(uri=uri, name=name):
            return f"[{name}: {uri}]"
        case _:
            # Base64 is a third longer than what it holds.
            return f"[{block.type}, {block.mime_type}, {size(len(block.data) * 3 // 4)}, not shown]"
