// Drives a running API with the real @ag-ui/client, one scenario a process; what it saw goes to stdout as JSON.
import { HttpAgent, EventType } from "@ag-ui/client";

const [url, token, scenario] = process.argv.slice(2);

function makeAgent(threadId = "t-" + scenario) {
  return new HttpAgent({ url: url + "/agui", headers: { Authorization: `Bearer ${token}` }, threadId });
}

// Runs once and keeps everything that came over the wire.
async function run(agent, parameters = {}) {
  const events = [];
  let failed = null;
  try {
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  } catch (error) {
    failed = String(error.message ?? error);
  }
  const last = events.at(-1) ?? {};
  return {
    types: events.map((event) => event.type),
    outcome: last.type === EventType.RUN_FINISHED ? last.outcome : null,
    error: last.type === EventType.RUN_ERROR ? { code: last.code, message: last.message } : null,
    results: events.filter((event) => event.type === EventType.TOOL_CALL_RESULT),
    custom: events.filter((event) => event.type === EventType.CUSTOM),
    usage: last.usage ?? null,
    failed,
    pending: (agent.pendingInterrupts ?? []).map((each) => each.id),
  };
}

const user = (content) => ({ id: "u-" + content, role: "user", content });

async function ask(agent, text = "please", parameters = {}) {
  agent.addMessage(user(text));
  return run(agent, parameters);
}

const resolved = (interruptId, payload) => ({ interruptId, status: "resolved", payload });
const roles = (agent) => agent.messages.map((message) => message.role);

const scenarios = {
  async approve() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const resumed = await run(agent, { resume: [resolved(asked.pending[0], { approved: true })] });
    return { asked, resumed, roles: roles(agent), state: agent.state };
  },
  async edit() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const schema = asked.outcome.interrupts[0].responseSchema;
    const args = { ...asked.outcome.interrupts[0].metadata.askfirst.planned.args, text: "edited" };
    const resumed = await run(agent, { resume: [resolved(asked.pending[0], { approved: true, editedArgs: args })] });
    return { asked, resumed, schema };
  },
  async deny() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const resumed = await run(agent, { resume: [resolved(asked.pending[0], { approved: false, reason: "wrong host" })] });
    return { asked, resumed };
  },
  async cancel() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const resumed = await run(agent, { resume: [{ interruptId: asked.pending[0], status: "cancelled" }] });
    return { asked, resumed };
  },
  async two() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const [one, other] = asked.pending;
    const refusedHere = await run(agent, { resume: [resolved(one, { approved: true })] });
    const resumed = await run(agent, {
      resume: [resolved(one, { approved: true }), resolved(other, { approved: false })],
    });
    return { asked, refusedHere, resumed };
  },
  async expired() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const locally = await run(agent, { resume: [resolved(asked.pending[0], { approved: true })] });
    const resumed = await run(agent, { resume: [{ interruptId: asked.pending[0], status: "cancelled" }] });
    return { asked, locally, resumed };
  },
  async invalid() {
    const agent = makeAgent();
    const asked = await ask(agent);
    const bad = await run(agent, { resume: [resolved(asked.pending[0], { approved: true, editedArgs: { path: 7 } })] });
    const again = await run(agent, { resume: [resolved(asked.pending[0], { approved: true })] });
    return { asked, bad, again };
  },
  async reconnect() {
    const asked = await ask(makeAgent("t-again"));
    // Another page load: nothing is remembered but the thread.
    const agent = makeAgent("t-again");
    const found = await run(agent);
    const resumed = await run(agent, { resume: [resolved(found.pending[0], { approved: true })] });
    return { asked, found, resumed, roles: roles(agent) };
  },
  async tool() {
    const agent = makeAgent();
    const tools = [{ name: "pick_slot", description: "Let the person pick", parameters: { type: "object", properties: { topic: { type: "string" } } } }];
    const asked = await ask(agent, "book a call", { tools });
    const toolCallId = asked.outcome.pendingToolCallIds[0];
    agent.addMessage({ id: "tool-1", role: "tool", toolCallId, content: "Tuesday 10:00" });
    const resumed = await run(agent, { tools });
    return { asked, resumed, roles: roles(agent) };
  },
};

console.log(JSON.stringify(await scenarios[scenario]()));
