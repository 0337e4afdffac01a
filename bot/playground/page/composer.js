// Where people write: Enter sends, Shift+Enter begins a new line, a slash begins a command.

import { act, written } from "./actions.js";
import { el } from "./dom.js";
import { complain } from "./toast.js";

/**
 * @param {import("./store.js").Store} store
 * @param {{label: string, placeholder?: string, target: () => {channel: string, thread_ts?: string}, sent?: (message: any) => void}} options
 */
export function composer(store, { label, placeholder = label, target, sent }) {
  const box = el("textarea", { rows: 1, "aria-label": label, placeholder, autocomplete: "off" });
  const send = el("button", { type: "submit", class: "button primary send", "aria-label": "Send" }, "➤");
  const form = el("form", { class: "composer" }, box, send);
  const grow = () => {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 180)}px`;
  };
  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = box.value.trim();
    if (!words) return;
    try {
      const message = await say(store, words, target());
      box.value = "";
      grow();
      if (message?.ts) sent?.(message);
    } catch (error) {
      complain(error);
    }
  });
  return form;
}

/** Write a message, or run a slash command, as the person we act as. */
export function say(store, words, where) {
  const body = { user: store.viewer, ...where };
  if (words.startsWith("/") && !where.thread_ts) return act("slash", { ...body, command: words });
  return act("say", { ...body, text: written(words, store.names.users) });
}
