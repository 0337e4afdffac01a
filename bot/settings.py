"""What an operator may set: environment variables, or lines of a `.env` file. `.env.example` lists them all."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.domain.errors import ConfigError

DEFAULT_MODEL = "claude-sonnet-5-5"


class Settings(BaseSettings):
    """Every name is prefixed with ASKFIRST_, except those that other programs know by another name."""

    model_config = SettingsConfigDict(env_prefix="ASKFIRST_", env_file=".env", extra="ignore", frozen=True)

    #: Where runs, interrupts and the audit log are kept.
    database: Path = Path(".askfirst/askfirst.db")
    #: Policy files, or directories of them; the packaged default policy if none is there.
    policies: Path = Path("policies")
    #: Where agents work: relative paths and commands start here.
    workdir: Path = Path()
    #: The model's name; a policy's `agent.model` wins.
    model: str = DEFAULT_MODEL
    anthropic_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("ANTHROPIC_API_KEY")
    )
    anthropic_base_url: str | None = Field(default=None, validation_alias=AliasChoices("ANTHROPIC_BASE_URL"))
    #: How commands are confined: auto takes the strongest that really works here.
    sandbox: Literal["auto", "bwrap", "landlock", "none", "required"] = "auto"
    #: How much larger than approved a target may have grown before it is asked about again; 0.05 is 5 %.
    drift_tolerance: float = Field(default=0.0, ge=0.0, le=1.0)

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
