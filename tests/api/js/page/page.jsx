// A page as an application would write it: CopilotKit's hooks over the real API, nothing in between.
import React, { useState } from "react";
import { createRoot } from "react-dom/client";
import {
  CopilotKitProvider,
  HttpAgent,
  useAgent,
  useCopilotKit,
  useHumanInTheLoop,
  useInterrupt,
  useRenderToolCall,
} from "@copilotkit/react-core/v2";

const asked = new URLSearchParams(location.hash.slice(1));
const agent = new HttpAgent({
  url: asked.get("url") + "/agui",
  headers: { Authorization: "Bearer " + asked.get("token") },
  threadId: "page-" + asked.get("thread"),
});

function Chat() {
  const { agent } = useAgent({ agentId: "default" });
  const { copilotkit } = useCopilotKit();
  const [sent, setSent] = useState(false);
  const interrupt = useInterrupt({
    renderInChat: false,
    render: ({ interrupt, resolve, cancel }) => (
      <div>
        <p id="question">{interrupt.message}</p>
        <button id="approve" onClick={() => resolve({ approved: true })}>Approve</button>
        <button id="cancel" onClick={() => cancel()}>Cancel</button>
      </div>
    ),
  });
  useHumanInTheLoop({
    name: "pick_slot",
    description: "Let the person pick a time",
    render: ({ status, respond }) =>
      status === "executing" ? <button id="pick" onClick={() => respond("Tuesday")}>Tuesday</button> : <i>{status}</i>,
  });
  const renderToolCall = useRenderToolCall();
  const answered = (id) => agent.messages.find((message) => message.toolCallId === id);
  const ask = async () => {
    setSent(true);
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "please" });
    await copilotkit.runAgent({ agent });
  };
  return (
    <div>
      <button id="ask" disabled={sent} onClick={ask}>Ask</button>
      {interrupt}
      <ol id="messages">
        {agent.messages.map((message) => (
          <li key={message.id} className={message.role}>
            {message.content}
            {(message.toolCalls ?? []).map((toolCall) => (
              <span key={toolCall.id}>{renderToolCall({ toolCall, toolMessage: answered(toolCall.id) })}</span>
            ))}
          </li>
        ))}
      </ol>
    </div>
  );
}

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider agents__unsafe_dev_only={{ default: agent }}>
    <Chat />
  </CopilotKitProvider>,
);
