// Middle: a channel, its messages without their threads, suggested requests and the composer.

import { composer } from "./composer.js";
import { Drawn, el, fill } from "./dom.js";
import { message } from "./message.js";
import { complain } from "./toast.js";
import { TOUR } from "./tour.js";

export class Channel {
  #root = document.getElementById("conversation");
  #drawn = new Drawn();
  #dismissed = new Set();
  #title = el("h1");
  #about = el("small");
  #list = el("div", { class: "messages", role: "log", "aria-label": "Messages", tabindex: "0" });
  #tour = el("details", { class: "tour", open: true }, el("summary", {}, "Suggested requests"), el("div", { class: "chips" }));
  #composers = new Map();

  constructor(page) {
    this.page = page;
  }

  draw() {
    const { store, here } = this.page;
    const channel = store.channel(here.channel);
    if (!channel) return;
    this.#title.textContent = this.page.channelName();
    this.#about.textContent = about(channel);
    const stick = isAtEnd(this.#list) || this.#list.dataset.channel !== here.channel;
    this.#list.dataset.channel = here.channel;
    fill(this.#list, this.#messages(store, here));
    this.#steps();
    fill(this.#root, [el("header", { class: "pane-title" }, this.#title, this.#about), this.#list, this.#tour, this.#composer()]);
    if (stick) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #messages(store, here) {
    const all = store.messages(here.channel).filter((each) => !this.#dismissed.has(each.ts));
    const replies = new Map();
    for (const each of all) if (isReply(each)) (replies.get(each.thread_ts) ?? replies.set(each.thread_ts, []).get(each.thread_ts)).push(each);
    const roots = all.filter((each) => !isReply(each));
    if (!roots.length) return [this.#drawn.node("empty", here.channel, () => empty(this.page.channelName()))];
    return roots.map((each) => {
      const below = replies.get(each.ts) ?? [];
      const seen = [store.viewer, each, below.length, below.at(-1)?.ts, store.status(here.channel, each.ts)];
      const ways = {
        replies: below,
        openThread: () => this.page.go({ thread: each.ts }),
        dismiss: () => (this.#dismissed.add(each.ts), this.draw()),
      };
      return this.#drawn.node(`${here.channel}/${each.ts}`, seen, () => message(each, store, ways));
    });
  }

  #steps() {
    const known = TOUR.filter((step) => this.page.side.isDemo && this.page.store.names.users.has(step.as));
    this.#tour.hidden = !known.length;
    const chips = known.map((step) =>
      this.#drawn.node(`chip/${step.id}`, step, () => el("button", { type: "button", class: "chip", title: `${step.say}\n${step.about}`, "data-step": step.id, onclick: () => this.page.take(step).catch(complain) }, step.title)),
    );
    fill(this.#tour.querySelector(".chips"), chips);
  }

  #composer() {
    const { channel } = this.page.here;
    if (!this.#composers.has(channel)) {
      const isDm = this.page.store.channel(channel).is_im;
      const label = isDm ? "Message Askfirst" : `Message ${this.page.channelName()}; mention @askfirst to ask it`;
      const placeholder = isDm ? label : "Message, or @askfirst …";
      const sent = (posted) => posted && this.page.go({ channel, thread: posted.ts });
      this.#composers.set(channel, composer(this.page.store, { label, placeholder, target: () => ({ channel }), sent }));
    }
    return this.#composers.get(channel);
  }
}

export const isReply = (each) => Boolean(each.thread_ts) && each.thread_ts !== each.ts;

export const isAtEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 120;

function about(channel) {
  if (channel.is_im) return "A conversation with the app: no mention needed";
  const facts = [`${channel.num_members} members`];
  if (channel.is_ext_shared) facts.push("shared with another organisation");
  if (!channel.is_member) facts.push("Askfirst is not in this channel");
  return facts.join(" · ");
}

const empty = (name) =>
  el("div", { class: "empty" }, el("h2", {}, `This is the very beginning of ${name}`), el("p", {}, "Take one of the suggested requests below, or write “@askfirst read notes.txt”."));
