"""The only place that knows who is who: fits adapters to the engine's ports and opens what must be closed."""

import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
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
from bot.domain.verdict import Verdict
from bot.engine.approvals import Approvals
from bot.engine.driver import World
from bot.engine.judge import Judge
from bot.engine.ports import Front, Ids, LiveEvent, Model, People, Toolbox
from bot.engine.runner import Runner
from bot.engine.supervisor import Supervisor
from bot.llm.anthropic import AnthropicModel
from bot.llm.offline import OfflineModel
from bot.policy.context import Context
from bot.policy.evaluate import decide, limits_touched
from bot.policy.explain import Explanation, explain
from bot.policy.files import PolicySet, load, reload
from bot.policy.model import LimitUse, Policy
from bot.policy.shell import Proof, prove
from bot.settings import Settings
from bot.storage.announce import AnnouncingStore
from bot.storage.sqlite import open_sqlite
from bot.storage.store import SqlStore
from bot.storage.workers import is_gone, this_worker
from bot.tools.builtin.assemble import builtin_tools
from bot.tools.builtin.execute import ExecuteSettings
from bot.tools.process.sandbox import find_sandbox
from bot.tools.registry import Registry


def utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the clock everybody else is given


class RandomIds:
    """Short names that people can read aloud; the database refuses the rare double."""

    def run(self) -> RunId:
        return RunId(readable(secrets.randbits(50), 10))

    def thread(self) -> ThreadId:
        return ThreadId(readable(secrets.randbits(50), 10))


@dataclass(frozen=True, slots=True)
class InForce:
    """One channel's policy, as the engine sees it."""

    policy: Policy

    @property
    def version(self) -> str:
        return self.policy.version

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return self.policy.breakpoints

    def decide(self, call: ToolCall, context: Context) -> Verdict:
        return decide(self.policy, call, context)

    def limits_touched(self, call: ToolCall, context: Context) -> tuple[LimitUse, ...]:
        return limits_touched(self.policy, call, context)


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


class LivePolicies:
    """The policies in force. A changed file replaces them as a whole, or not at all."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._current = load(*self._paths)

    @property
    def current(self) -> PolicySet:
        return self._current

    def for_channel(self, channel: str) -> InForce:
        return InForce(self._current.for_channel(channel))

    def refresh(self) -> bool:
        """Take over changed files; return whether anything changed.

        Raises:
            PolicyProblems: the new files are broken; the last good ones stay in force.
        """
        newest = reload(self._current, *self._paths)
        changed = newest is not self._current
        self._current = newest
        return changed


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
    async with open_sqlite(settings.database) as database:
        yield AnnouncingStore(database, is_gone)


@asynccontextmanager
async def open_engine(
    settings: Settings, front: Front, *, people: People | None = None
) -> AsyncGenerator[Engine]:
    """Everything, running. At the end runs are let go of in good order, for another process to take.

    Raises:
        ConfigError: a setting, a policy or the database cannot be used; says what to do.
    """
    policies = LivePolicies(policy_paths(settings))
    worker = this_worker(secrets.randbits(30))
    execute = ExecuteSettings(sandbox=await find_sandbox(settings.sandbox), prove=_prover)
    toolbox = ClientToolbox(Registry(builtin_tools(clock=utc_now, execute=execute)))
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings))
        model = await stack.enter_async_context(open_model(settings))
        judge = Judge(
            toolbox=toolbox,
            policies=ClientPolicies(policies),
            store=store,
            clock=utc_now,
            people=people or TokenPeople(store),
        )
        world = World(
            store=store,
            model=model,
            toolbox=toolbox,
            judge=judge,
            front=front,
            clock=utc_now,
            worker=worker,
            drift_tolerance=settings.drift_tolerance,
        )
        stack.push_async_callback(lambda: store.forget_worker(worker, utc_now()))
        supervisor = await stack.enter_async_context(Supervisor(world).running())
        approvals = Approvals(store, toolbox, judge, utc_now, worker=worker)
        ids = RandomIds()
        yield Engine(
            runner=Runner(world, supervisor, approvals, ids),
            supervisor=supervisor,
            store=store,
            policies=policies,
            toolbox=toolbox,
            judge=judge,
            worker=worker,
            settings=settings,
            ids=ids,
        )


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
