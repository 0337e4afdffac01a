"""What an operator may set: environment variables, or lines of a `.env` file. `.env.example` lists them all."""

from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.domain.errors import ConfigError
from bot.engine.hours import parse_hours, parse_zone
from bot.engine.timers import TimeRules
from bot.scheduler.chores import Chores, DigestPlan
from bot.tools.builtin.http import Credential

DEFAULT_MODEL = "claude-sonnet-5-5"


class Settings(BaseSettings):
    """Every name is prefixed with ASKFIRST_, except those that other programs know by another name."""

    model_config = SettingsConfigDict(env_prefix="ASKFIRST_", env_file=".env", extra="ignore", frozen=True)

    #: Where runs, interrupts and the audit log are kept: a SQLite file, or postgresql://… for several replicas.
    database: Annotated[str, BeforeValidator(str)] = ".askfirst/askfirst.db"
    #: Policy files, or directories of them; the packaged default policy if none is there.
    policies: Path = Path("policies")
    #: Where agents work: relative paths and commands start here.
    workdir: Path = Path()
    #: The model's name; a policy's `agent.model` wins.
    model: str = DEFAULT_MODEL
    #: A smaller model for the quick look at a request before the work begins; empty means the same one.
    scope_model: str = ""
    anthropic_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("ANTHROPIC_API_KEY")
    )
    anthropic_base_url: str | None = Field(default=None, validation_alias=AliasChoices("ANTHROPIC_BASE_URL"))
    #: How commands are confined: auto takes the strongest that really works here.
    sandbox: Literal["auto", "bwrap", "landlock", "none", "required"] = "auto"
    #: MCP servers, in the usual form; see docs/tools.md.
    mcp_config: Path = Path(".mcp.json")
    #: Secrets that tools may use by name and the model never sees:
    #: {"github": {"value": "Bearer …", "hosts": ["api.github.com"]}}
    credentials: dict[str, Credential] = Field(default_factory=dict[str, Credential], repr=False)
    #: Hosts with private addresses that http_request may reach all the same.
    private_hosts: list[str] = Field(default_factory=list[str])
    #: Where files are moved instead of being deleted; a folder beside them if unset.
    staging_dir: Path | None = None
    #: How much larger than approved a target may have grown before it is asked about again; 0.05 is 5 %.
    drift_tolerance: float = Field(default=0.0, ge=0.0, le=1.0)
    #: When approvers are at work, by their name in the policy, "*" for the others:
    #: {"*": "mon-fri 09:00-17:00 Europe/Berlin"}. Reminders and escalations wait for it; the expiry does not.
    business_hours: dict[str, str] = Field(default_factory=dict[str, str])
    #: A daily list of what waits: to each channel, to each approver by name, or both.
    digest: Literal["off", "channel", "person", "both"] = "off"
    digest_at: time = time(9, 0)
    digest_zone: str = "UTC"
    #: Days after which finished runs are removed, with their transcripts; 0 keeps them. The audit log stays.
    keep_runs_days: int = Field(default=90, ge=0)
    #: Days for which the uses of limits are counted; more than the longest limit of your policies.
    keep_uses_days: int = Field(default=90, ge=1)
    #: Where finished runs are written, as lines of JSON, before they are removed.
    archive_dir: Path | None = None

    @field_validator("business_hours")
    @classmethod
    def _hours_fit(cls, value: dict[str, str]) -> dict[str, str]:
        for text in value.values():
            parse_hours(text)
        return value

    @field_validator("digest_zone")
    @classmethod
    def _zone_fits(cls, value: str) -> str:
        parse_zone(value)
        return value

    @property
    def time_rules(self) -> TimeRules:
        return TimeRules(hours={who: parse_hours(text) for who, text in self.business_hours.items()})

    @property
    def chores(self) -> Chores:
        """What is done once in a while."""
        audience = None if self.digest == "off" else self.digest
        return Chores(
            digest=audience
            and DigestPlan(audience=audience, at=self.digest_at, zone=parse_zone(self.digest_zone)),
            keep_runs=timedelta(days=self.keep_runs_days) if self.keep_runs_days else None,
            keep_uses=timedelta(days=self.keep_uses_days),
            archive=self.archive_dir,
        )

    #: Slack: the bot's token (xoxb-…), and for Socket Mode the app's (xapp-…).
    slack_bot_token: SecretStr | None = Field(default=None, validation_alias=AliasChoices("SLACK_BOT_TOKEN"))
    slack_app_token: SecretStr | None = Field(default=None, validation_alias=AliasChoices("SLACK_APP_TOKEN"))
    #: HTTP mode instead of Socket Mode: how requests of Slack are told from others, and where we listen.
    slack_signing_secret: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("SLACK_SIGNING_SECRET")
    )
    slack_host: str = Field(default="127.0.0.1", validation_alias=AliasChoices("SLACK_HOST"))
    slack_port: int = Field(default=3000, ge=0, le=65535, validation_alias=AliasChoices("SLACK_PORT"))
    #: Another Slack than slack.com: the local workspace.
    slack_api_url: str = Field(
        default="https://slack.com/api/", validation_alias=AliasChoices("SLACK_API_URL")
    )

    #: Where the HTTP API listens. Loopback, unless told otherwise.
    api_host: str = "127.0.0.1"
    api_port: int = Field(default=8787, ge=0, le=65535)
    #: Further names it is reached by; requests for other hosts are refused. Comma-separated.
    api_hosts: str = ""
    #: Origins whose pages may call it; none by default. Comma-separated.
    api_origins: str = ""
    #: A token's requests a minute.
    api_per_minute: float = Field(default=240.0, gt=0)
    api_body_bytes: int = Field(default=1_000_000, ge=1024)
    #: Also speak the AG-UI dialect from before 1.0: on_interrupt events, forwardedProps.command.
    agui_legacy: bool = False
    #: Where OpenTelemetry traces go (OTLP over HTTP); none by default.
    otlp_endpoint: str | None = Field(
        default=None, validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_ENDPOINT")
    )
    #: How logs are written: text for people, json for machines.
    log_format: Literal["text", "json"] = "text"

    @property
    def offline(self) -> bool:
        return self.anthropic_api_key is None


def load_settings(**given: object) -> Settings:
    """Read the environment; `given` wins over it.

    Raises:
        ConfigError: a value does not fit; says which and why.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
    except ValidationError as error:
        lines = [
            f"  {_variable(problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_input=False)
        ]
        raise ConfigError("These settings do not fit:\n" + "\n".join(lines)) from error


def _variable(place: tuple[int | str, ...]) -> str:
    name = str(place[0]) if place else "settings"
    return name if name.isupper() else f"ASKFIRST_{name.upper()}"
