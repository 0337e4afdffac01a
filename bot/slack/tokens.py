"""Checks the tokens before anything is started, and says in words what is wrong. Pure."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from bot.domain.errors import ConfigError


class TokenSettings(Protocol):
    @property
    def slack_bot_token(self) -> SecretStr | None: ...

    @property
    def slack_app_token(self) -> SecretStr | None: ...

    @property
    def slack_signing_secret(self) -> SecretStr | None: ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tokens:
    bot: str
    app: str = ""
    #: Set in HTTP mode only.
    secret: str = ""


def slack_tokens(settings: TokenSettings) -> Tokens:
    """Return the tokens, each where it belongs.

    Raises:
        ConfigError: one is missing or in the wrong place; never repeats it.
    """
    bot, app, secret = (
        _text(settings.slack_bot_token),
        _text(settings.slack_app_token),
        _text(settings.slack_signing_secret),
    )
    if bot.startswith("xapp-") and (not app or app.startswith("xoxb-")):
        raise ConfigError(
            "SLACK_BOT_TOKEN and SLACK_APP_TOKEN are mixed up: xoxb- is the bot's, xapp- is the app's."
        )
    if not bot:
        raise ConfigError(
            "SLACK_BOT_TOKEN is not set. Create an app from manifest.yml at https://api.slack.com/apps, install it, "
            "and copy its Bot User OAuth Token (xoxb-…)."
        )
    if not bot.startswith("xoxb-"):
        raise ConfigError("SLACK_BOT_TOKEN is not a bot token: it begins with xoxb-.")
    if secret and not app:
        return Tokens(bot=bot, secret=secret)
    if not app:
        raise ConfigError(
            "SLACK_APP_TOKEN is not set. Create one (xapp-…, scope connections:write) under Basic Information, "
            "App-Level Tokens; or set SLACK_SIGNING_SECRET to let Slack post to this machine."
        )
    if not app.startswith("xapp-"):
        raise ConfigError("SLACK_APP_TOKEN is not an app-level token: it begins with xapp-.")
    return Tokens(bot=bot, app=app)


def _text(secret: SecretStr | None) -> str:
    return secret.get_secret_value().strip() if secret else ""
