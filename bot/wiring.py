"""The only place that knows who is who: fits adapters to the engine's ports and opens what must be closed."""

import logging
import os
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from aiohttp import web

from bot.api.app import make_app
from bot.api.client_tools import ClientPolicies, ClientToolbox
from bot.api.metrics import Metrics
from bot.api.ports import Access, Check, Limits
from bot.api.ports import World as ApiWorld
from bot.api.stream import HttpFront
from bot.domain.canonical import JsonObject
from bot.domain.errors import ConfigError
from bot.domain.ids import CallId, RunId, ThreadId, UserId, WorkerId, readable
from bot.domain.interrupt import Interrupt
from bot.domain.person import Person
from bot.domain.run import AgentSpec, Breakpoint, Head, Thread
from bot.domain.tool import ToolCall, ToolDefinition
from bot.engine.approvals import Approvals
from bot.engine.assess import Assessor
from bot.engine.driver import World
from bot.engine.judge import Judge
from bot.engine.live_policies import LivePolicies
from bot.engine.ports import Clock, Front, Ids, LiveEvent, Model, People, Toolbox
from bot.engine.runner import Runner
from bot.engine.supervisor import Supervisor
from bot.engine.tasks import beside
from bot.llm.anthropic import AnthropicModel
from bot.llm.offline import OfflineModel
from bot.policy.context import Context
from bot.policy.explain import Explanation, explain
from bot.policy.shell import Proof, prove
from bot.scheduler.jobs import Waking, keeping_time
from bot.scheduler.timer import Alarm
from bot.settings import Settings
from bot.slack.app import build_app
from bot.slack.bot import Bot
from bot.slack.errands import Errands
from bot.slack.front import SlackFront
from bot.slack.http import serving
from bot.slack.messenger import SlackMessenger
from bot.slack.people import Channels, SlackPeople
from bot.slack.poster import Poster
from bot.slack.render import Renderer
from bot.slack.routes import Routes
from bot.slack.socket import Sockets
from bot.slack.tokens import slack_tokens
from bot.slack.web import Identity, open_web
from bot.storage.announce import AnnouncingStore
from bot.storage.sqlite import open_sqlite
from bot.storage.store import Database, SqlStore
from bot.storage.workers import is_gone, this_worker
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.builtin.execute import ExecuteSettings
from bot.tools.builtin.http import HttpSettings
from bot.tools.builtin.messages import Messenger
from bot.tools.mcp.config import McpConfig
from bot.tools.mcp.config import load as load_mcp
from bot.tools.mcp.servers import McpServers
from bot.tools.plugins import plugin_tools
from bot.tools.process.sandbox import find_sandbox
from bot.tools.redact import Redactor
from bot.tools.registry import Registry
from bot.tools.tool import AnyTool

logger = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the clock everybody else is given


class RandomIds:
    """Short names that people can read aloud; the database refuses the rare double."""

    def run(self) -> RunId:
        return RunId(readable(secrets.randbits(50), 10))

    def thread(self) -> ThreadId:
        return ThreadId(readable(secrets.randbits(50), 10))


class Fronts:
    """Several fronts as one: everybody who watches sees everything, the thread's own front besides."""

    def __init__(self, by_name: Mapping[str, Front], *, watching: Sequence[Front] = ()) -> None:
        self._by_name = by_name
        self._watching = tuple(watching)

    async def show(self, thread: Thread, run_id: RunId, event: LiveEvent) -> None:
        for watcher in self._watching:
            await watcher.show(thread, run_id, event)
        own = self._by_name.get(thread.front)
        if own is not None:
            await own.show(thread, run_id, event)


class TokenPeople:
    """People where no front knows better: whoever got this far is a member, in the groups their tokens name."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def person(self, user: UserId) -> Person:
        tokens = await self._store.tokens_of(user)
        return Person(id=user, groups=frozenset(group for token in tokens for group in token.groups))


def policy_paths(settings: Settings) -> tuple[Path, ...]:
    """Where the policies are: as set, or the default one that comes with Askfirst."""
    if settings.policies.exists() or "policies" in settings.model_fields_set:
        return (settings.policies,)
    packaged = Path(str(resources.files("bot"))) / "_policies"
    return (packaged if packaged.exists() else Path(__file__).parent.parent / "policies",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A running engine and the parts that fronts and commands look into."""

    runner: Runner
    supervisor: Supervisor
    store: AnnouncingStore
    policies: LivePolicies
    toolbox: Toolbox
    judge: Judge
    worker: WorkerId
    settings: Settings
    alarm: Alarm
    ids: Ids

    def explain(self, head: Head, interrupt: Interrupt) -> Explanation | None:
        """Every rule that was looked at for the planned call, as the policy is now."""
        if interrupt.planned is None or interrupt.call_id is None:
            return None
        policy = self.policies.current.for_channel(head.thread.channel)
        call = ToolCall(id=interrupt.call_id, tool=interrupt.planned.tool, args=interrupt.planned.args)
        context = self.judge.context(head, interrupt.planned, interrupt.impact)
        return explain(policy, call, context)

    def explain_call(self, tool: str, args: JsonObject, channel: str, requester: UserId) -> Explanation:
        """What the policy of `channel` would say to a call, without measuring it."""
        agent = self.agent(channel)
        known = next((each for each in self.toolbox.definitions(agent) if each.name == tool), None)
        context = Context(
            tool=known,
            now=utc_now(),
            requester=requester,
            channel=channel,
            cwd=agent.cwd or "/",
            environment=agent.environment,
        )
        policy = self.policies.current.for_channel(channel)
        return explain(policy, ToolCall(id=CallId("explain"), tool=tool, args=args), context)

    def breakpoints(self, channel: str) -> tuple[Breakpoint, ...]:
        return self.policies.for_channel(channel).breakpoints

    def tools(self, agent: AgentSpec) -> tuple[ToolDefinition, ...]:
        return self.toolbox.definitions(agent)

    def agent(self, channel: str) -> AgentSpec:
        """Who works in this channel: the policy's agent, completed with the operator's settings."""
        policy = self.policies.current.for_channel(channel)
        workdir = str(self.settings.workdir.resolve())
        spec = policy.agent or AgentSpec(model="")
        model = "offline" if self.settings.offline else spec.model or self.settings.model
        patience = policy.checkpoint_ttl or spec.patience
        environment = policy.environment
        return replace(spec, model=model, cwd=spec.cwd or workdir, patience=patience, environment=environment)


def _prover(text: str) -> Sequence[str] | str | None:
    """What is executed for a command that was proved: its words, or its canonical text."""
    proof = prove(text)
    if not isinstance(proof, Proof):
        return None
    return proof.argv if proof.argv is not None else proof.render()


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncGenerator[Model]:
    if settings.anthropic_api_key is None:
        yield OfflineModel()
        return
    key = settings.anthropic_api_key.get_secret_value()
    async with AnthropicModel(api_key=key, base_url=settings.anthropic_base_url) as model:
        yield model


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[AnnouncingStore]:
    """Only the database, for commands that look and do not drive."""
    async with _open_database(settings.database) as database:
        yield AnnouncingStore(database, is_gone)


def _open_database(where: str) -> AbstractAsyncContextManager[Database]:
    if not where.startswith(("postgres://", "postgresql://")):
        return open_sqlite(Path(where))
    try:
        # Only replicas need it, so only they need to have installed it.
        from bot.storage.postgres import open_postgres  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError("PostgreSQL needs a driver: pip install 'askfirst[postgres]'") from error
    return open_postgres(where)


@asynccontextmanager
async def open_toolbox(
    settings: Settings, clock: Clock, messenger: Messenger | None = None, more: Sequence[AnyTool] = ()
) -> AsyncGenerator[Registry]:
    """Every tool: our own, those of installed packages, and those of MCP servers, behind one gate.

    Raises:
        ConfigError: the sandbox, a credential or `.mcp.json` cannot be used; says what to do.
    """
    state = Path(settings.database).parent if "://" not in settings.database else Path(".askfirst")
    hidden = [".env", str(state), *map(str, policy_paths(settings))]
    sandbox = await find_sandbox(settings.sandbox, hidden=hidden)
    if sandbox.warning:
        logger.warning("commands are %s", sandbox.warning)
    http = HttpSettings(credentials=settings.credentials, private_hosts=frozenset(settings.private_hosts))
    tools = builtin_tools(
        clock=clock,
        execute=ExecuteSettings(sandbox=sandbox, prove=_prover),
        http=http,
        messenger=messenger,
        staging_directory=str(settings.staging_dir) if settings.staging_dir else None,
    )
    config = (
        load_mcp(settings.mcp_config, os.environ) if settings.mcp_config.exists() else McpConfig(servers={})
    )
    own = [key.get_secret_value() for key in (settings.anthropic_api_key,) if key]
    redactor = Redactor([*own, *http.secrets, *config.secrets])
    async with McpServers(config, known=state / "mcp.json").running() as servers:
        yield Registry((*tools, *plugin_tools(), *more), sources=[servers], redactor=redactor)


@asynccontextmanager
async def open_engine(
    settings: Settings,
    front: Front,
    *,
    people: People | None = None,
    messenger: Messenger | None = None,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    clock: Clock = utc_now,
) -> AsyncGenerator[Engine]:
    """Everything, running. At the end runs are let go of in good order, for another process to take.

    `model` stands in for the one of the settings; `tools` join the built-in ones.

    Raises:
        ConfigError: a setting, a policy or the database cannot be used; says what to do.
    """
    policies = LivePolicies(policy_paths(settings))
    worker = this_worker(secrets.randbits(30))
    async with AsyncExitStack() as stack:
        toolbox = ClientToolbox(
            await stack.enter_async_context(open_toolbox(settings, clock, messenger, tools))
        )
        store = await stack.enter_async_context(open_store(settings))
        model = model or await stack.enter_async_context(open_model(settings))
        judge = Judge(
            toolbox=toolbox,
            policies=ClientPolicies(policies),
            store=store,
            clock=clock,
            people=people or TokenPeople(store),
        )
        waking = Waking(front)
        world = World(
            store=store,
            model=model,
            toolbox=toolbox,
            judge=judge,
            front=waking,
            clock=clock,
            worker=worker,
            assessor=Assessor(
                model if isinstance(model, AnthropicModel) else None, settings.scope_model or settings.model
            ),
            drift_tolerance=settings.drift_tolerance,
            time=settings.time_rules,
        )
        stack.push_async_callback(lambda: store.forget_worker(worker, clock()))
        supervisor = await stack.enter_async_context(Supervisor(world).running())
        await stack.enter_async_context(beside(policies.watch(store, clock)))
        approvals = Approvals(store, toolbox, judge, clock, worker=worker, rules=world.time)
        ids = RandomIds()
        runner = Runner(world, supervisor, approvals, ids)
        alarm = await stack.enter_async_context(keeping_time(runner, store, clock, settings.chores, waking))
        yield Engine(
            runner=runner,
            alarm=alarm,
            ids=ids,
            supervisor=supervisor,
            store=store,
            policies=policies,
            toolbox=toolbox,
            judge=judge,
            worker=worker,
            settings=settings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackBot:
    """A running bot."""

    engine: Engine
    me: Identity
    #: Where Slack is to post to, in HTTP mode.
    address: str = ""
    sockets: Sockets | None = None


@asynccontextmanager
async def open_slack(
    settings: Settings,
    *,
    model: Model | None = None,
    tools: Sequence[AnyTool] = (),
    clock: Clock = utc_now,
) -> AsyncGenerator[SlackBot]:
    """The engine with Slack as its front, connected and caught up.

    Raises:
        ConfigError: a token, a setting or the database cannot be used; says what to do.
    """
    try:
        async with _slack(settings, model=model, tools=tools, clock=clock) as bot:
            yield bot
    except BaseExceptionGroup as group:
        # Task groups wrap whatever comes out of their block; people and callers want the error itself.
        raise _alone(group) from None


def _alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    if len(group.exceptions) != 1:
        return group
    (error,) = group.exceptions
    return _alone(error) if isinstance(error, BaseExceptionGroup) else error  # pyright: ignore[reportUnknownArgumentType]


@asynccontextmanager
async def _slack(
    settings: Settings, *, model: Model | None, tools: Sequence[AnyTool], clock: Clock
) -> AsyncGenerator[SlackBot]:
    tokens = slack_tokens(settings)
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(open_web(tokens.bot, settings.slack_api_url))
        me = await web.identity()
        errands, live = Errands(), Errands()
        people, front = SlackPeople(web, me.team), SlackFront(web, live)
        engine = await stack.enter_async_context(
            open_engine(
                settings,
                front,
                people=people,
                messenger=SlackMessenger(web),
                model=model,
                tools=tools,
                clock=clock,
            )
        )
        front.records = engine.store
        # After the engine, so that they end before its store is closed.
        await stack.enter_async_context(errands.running())
        await stack.enter_async_context(live.running(patience=0))
        renderer = Renderer(engine.store, Channels(web), front.finish)
        poster = Poster(engine.store, web, renderer, worker=engine.worker, clock=clock)
        engine.store.posted = poster.poke
        await stack.enter_async_context(poster.running())
        bot = Bot(office=engine, web=web, people=people, me=me, clock=clock, errands=errands)
        routes = Routes(bot)
        app = build_app(routes, me, web.client, signing_secret=tokens.secret)
        await routes.catch_up()
        await engine.supervisor.recover()
        if tokens.secret:
            address = await stack.enter_async_context(
                serving(app, tokens.secret, settings.slack_host, settings.slack_port)
            )
            yield SlackBot(engine=engine, me=me, address=address)
        else:
            sockets = await stack.enter_async_context(Sockets(app, tokens.app).running())
            yield SlackBot(engine=engine, me=me, sockets=sockets)


@asynccontextmanager
async def open_api(
    engine: Engine, front: HttpFront, metrics: Metrics, *, checks: Mapping[str, Check] | None = None
) -> AsyncGenerator[str]:
    """The HTTP API of a running engine, listening as the settings say; yields its address.

    `front` and `metrics` must be among the engine's fronts. `checks` are what `/readyz` asks besides the database.
    """
    settings, store = engine.settings, engine.store
    store.on_run, store.on_change, store.on_settled = front.changed, metrics.committed, metrics.settled
    world = ApiWorld(
        runner=engine.runner,
        store=store,
        policy=engine,
        ids=engine.ids,
        clock=utc_now,
        limits=Limits(per_minute=settings.api_per_minute, body_bytes=settings.api_body_bytes),
        access=Access(
            hosts=Access().hosts | _listed(settings.api_hosts), origins=_listed(settings.api_origins)
        ),
        checks=dict(checks or {}),
        legacy_agui=settings.agui_legacy,
    )
    runner = web.AppRunner(make_app(world, front, metrics), access_log=None, shutdown_timeout=5.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.api_host, settings.api_port)
        try:
            await site.start()
        except OSError as error:
            place = f"{settings.api_host}:{settings.api_port}"
            raise ConfigError(
                f"The API cannot listen on {place}: {error.strerror}. Set ASKFIRST_API_PORT."
            ) from error
        host, port = runner.addresses[0][:2]
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        await runner.cleanup()


def _listed(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())
