// A thread beside its channel; on narrow screens in its place.

import { act } from "./actions.js";
import { isAtEnd, isReply } from "./channel.js";
import { composer } from "./composer.js";
import { Drawn, el, fill } from "./dom.js";
import { message } from "./message.js";
import { complain } from "./toast.js";

export class ThreadPane {
  #root = document.getElementById("thread");
  #drawn = new Drawn();
  #dismissed = new Set();
  #list = el("div", { class: "messages", role: "log", "aria-label": "Messages in the thread", tabindex: "0" });
  #about = el("small");
  #hint = el("p", { class: "step", role: "note", "aria-label": "What to try" });
  #status = el("div", { class: "status", role: "status" });
  #composer = null;

  constructor(page) {
    this.page = page;
    const close = el("button", { type: "button", class: "button quiet", "aria-label": "Close the thread", onclick: () => page.go({ channel: page.here.channel }) }, "✕");
    this.header = el("header", { class: "pane-title" }, el("h2", {}, "Thread"), this.#about, el("span", { class: "spacer" }), close);
    this.stop = el("button", { type: "button", class: "button danger", onclick: () => this.#stop() }, "Stop");
  }

  draw() {
    const { store, here, step } = this.page;
    this.#root.hidden = !here.thread;
    if (!here.thread) return;
    this.#composer ??= composer(store, {
      label: "Reply in the thread",
      target: () => ({ channel: this.page.here.channel, thread_ts: this.page.here.thread }),
    });
    this.#about.textContent = this.page.channelName();
    this.#hint.textContent = step?.thread === here.thread ? step.about : "";
    this.#hint.hidden = step?.thread !== here.thread;
    const stick = isAtEnd(this.#list) || this.#list.dataset.thread !== here.thread;
    this.#list.dataset.thread = here.thread;
    fill(this.#list, this.#messages(store, here));
    this.#foot(store, here);
    fill(this.#root, [this.header, this.#hint, this.#list, this.#status, this.#composer]);
    if (stick) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #messages(store, here) {
    const all = store.thread(here.channel, here.thread).filter((each) => !this.#dismissed.has(each.ts));
    const roots = all.filter((each) => !isReply(each));
    const replies = all.filter(isReply);
    const draw = (each) =>
      this.#drawn.node(`${here.channel}/${each.ts}`, [store.viewer, each], () => message(each, store, { dismiss: () => (this.#dismissed.add(each.ts), this.draw()) }));
    const count = replies.length === 1 ? "1 reply" : `${replies.length} replies`;
    const rule = this.#drawn.node("rule", count, () => el("div", { class: "rule" }, count));
    return [...roots.map(draw), ...(replies.length ? [rule] : []), ...replies.map(draw)];
  }

  #foot(store, here) {
    const status = store.status(here.channel, here.thread);
    const session = store.session(here.channel, here.thread);
    const words = status ? `Askfirst ${status}` : "";
    if (this.#status.dataset.words !== words) {
      this.#status.dataset.words = words;
      fill(this.#status, words ? [el("span", { class: "pulse", "aria-hidden": "true" }), el("span", {}, words)] : []);
    }
    const canStop = session?.status === "processing";
    if (canStop && !this.#status.contains(this.stop)) this.#status.append(this.stop);
    if (!canStop) this.stop.remove();
  }

  #stop() {
    const { store, here } = this.page;
    act("stop", { user: store.viewer, channel: here.channel, thread_ts: here.thread }).catch(complain);
  }
}
