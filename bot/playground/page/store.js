// What the page knows: the workspace as one person sees it, read again whenever the feed says that something changed.

import { get, token } from "./actions.js";

const KINDS = [
  "message", "message_changed", "message_deleted", "ephemeral", "status", "session", "title", "prompts", "modal",
  "modal_closed", "view_changed", "view_errors", "home", "trouble", "didnt_respond", "missed", "acked", "sockets",
  "reset", "reload", "nudge", "demo",
];

export class Store extends EventTarget {
  /** Who we act as. */
  viewer = sessionStorage.getItem("viewer") || "U0REQUESTER";
  state = null;
  names = null;
  #busy = false;
  #again = false;

  async start() {
    await this.refresh();
    this.#listen();
  }

  become(user) {
    this.viewer = user;
    sessionStorage.setItem("viewer", user);
    this.state = null;
    return this.refresh();
  }

  /** Read the state anew. Several wishes while one is under way are one more reading. */
  async refresh() {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#again) {
        this.#again = false;
        const viewer = this.viewer;
        const state = await get(`/_control/state?as=${encodeURIComponent(viewer)}`);
        if (viewer === this.viewer) this.#take(state);
        else this.#again = true;
      }
    } finally {
      this.#busy = false;
    }
  }

  #take(state) {
    const byId = (list) => new Map(list.map((each) => [each.id, each]));
    this.state = state;
    this.names = { users: byId(state.users), channels: byId(state.channels), groups: byId(state.usergroups), viewer: this.viewer, now: state.now };
    this.dispatchEvent(new Event("change"));
  }

  #listen() {
    const feed = new EventSource(`/_control/feed?token=${encodeURIComponent(token())}&after=${this.state.number}`);
    const heard = (event) => {
      this.dispatchEvent(new CustomEvent(event.type, { detail: JSON.parse(event.data || "{}") }));
      this.refresh().catch(() => this.#lost(true));
    };
    for (const kind of KINDS) feed.addEventListener(kind, heard);
    feed.addEventListener("open", () => this.#lost(false));
    feed.addEventListener("error", () => this.#lost(true));
  }

  #lost(isLost) {
    this.dispatchEvent(new CustomEvent("connection", { detail: { lost: isLost } }));
  }

  // ── Looking things up ─────────────────────────────────────────────────────────────────────────────────

  user(id) {
    return this.names.users.get(id);
  }

  channel(id) {
    return this.names.channels.get(id);
  }

  messages(channel) {
    return this.state.messages[channel] ?? [];
  }

  thread(channel, root) {
    return this.messages(channel).filter((each) => (each.thread_ts ?? each.ts) === root);
  }

  status(channel, root) {
    return this.state.statuses.find((each) => each.channel === channel && each.thread_ts === root)?.status ?? "";
  }

  session(channel, root) {
    return this.state.sessions.find((each) => each.channel === channel && each.thread_ts === root);
  }
}
