"""What the app asked Slack for. Read from manifest.yml, so that what is missing there fails here first."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from bot.playground.shapes import Json, as_dict, as_list, dicts

#: Which scope lets an app hear an event.
EVENT_SCOPES = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "agent_session_stopped": "assistant:write",
    "app_context_changed": "assistant:write",
}
_PACKAGED = Path(__file__).parents[1] / "_manifest.yml"
#: Beside the code in a checkout; in an installed package, in it.
DEFAULT = _PACKAGED if _PACKAGED.exists() else Path(__file__).parents[2] / "manifest.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    scopes: frozenset[str]
    events: frozenset[str]
    commands: frozenset[str]
    is_agent: bool = True
    home_tab: bool = True
    messages_tab: bool = True
    interactivity: bool = True

    def hears(self, event: str) -> bool:
        """Whether the app subscribed to `event` and has the scope for it."""
        scope = EVENT_SCOPES.get(event)
        return event in self.events and (scope is None or scope in self.scopes)

    def without(self, *names: str) -> "Manifest":
        """Return the same app, had it not asked for these scopes, events or commands."""
        gone = frozenset(names)
        return Manifest(
            scopes=self.scopes - gone,
            events=self.events - gone,
            commands=self.commands - gone,
            is_agent=self.is_agent,
            home_tab=self.home_tab,
            messages_tab=self.messages_tab,
            interactivity=self.interactivity,
        )


def read_manifest(path: Path = DEFAULT) -> Manifest:
    return parse_manifest(as_dict(yaml.safe_load(path.read_text(encoding="utf-8"))) or {})


def parse_manifest(data: Json) -> Manifest:
    features = _part(data, "features")
    settings = _part(data, "settings")
    home = _part(features, "app_home")
    return Manifest(
        scopes=frozenset(as_list(_part(_part(data, "oauth_config"), "scopes").get("bot")) or ()),
        events=frozenset(as_list(_part(settings, "event_subscriptions").get("bot_events")) or ()),
        commands=frozenset(command["command"] for command in dicts(features.get("slash_commands"))),
        is_agent="agent_view" in features,
        home_tab=home.get("home_tab_enabled") is True,
        messages_tab=home.get("messages_tab_enabled") is True,
        interactivity=_part(settings, "interactivity").get("is_enabled") is True,
    )


def _part(data: Json, name: str) -> Json:
    return as_dict(data.get(name)) or {}
