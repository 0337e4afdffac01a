// Start here: the page's parts, and where in the workspace we are.

import { act, takeToken } from "./actions.js";
import { Channel } from "./channel.js";
import { el, fill } from "./dom.js";
import { Home } from "./home.js";
import { Modal } from "./modal.js";
import { Nav } from "./nav.js";
import { Side } from "./side.js";
import { Store } from "./store.js";
import { ThreadPane } from "./thread.js";
import { complain, tell } from "./toast.js";
import { date } from "./render/text.js";
import { say } from "./composer.js";

class Page {
  store = new Store();
  /** Where we are: a channel or the app's Home tab, and the thread beside it. */
  here = { channel: "C0GENERAL", home: false, thread: null };
  /** What the last suggested request was about. */
  step = null;

  async start() {
    this.side = new Side(this);
    this.nav = new Nav(this);
    this.channel = new Channel(this);
    this.thread = new ThreadPane(this);
    this.home = new Home(this);
    new Modal(this.store);
    this.store.addEventListener("change", () => this.draw());
    this.store.addEventListener("didnt_respond", () => tell("Askfirst did not respond. Slack shows a warning like this; nothing was done.", "error"));
    this.store.addEventListener("connection", ({ detail }) => (document.getElementById("lost").hidden = !detail.lost));
    await this.store.start();
    this.side.start();
  }

  go(place) {
    this.here = { channel: this.here.channel, home: false, thread: null, ...place };
    this.nav.close();
    document.body.classList.toggle("thread-open", Boolean(this.here.thread));
    this.draw();
  }

  async openHome() {
    this.go({ home: true });
    await act("home", { user: this.store.viewer }).catch(complain);
  }

  async become(user) {
    await this.store.become(user);
    this.nav.close();
    const mine = this.store.state.channels;
    // A direct message is between one person and the bot: the other person has their own.
    if (!mine.some((each) => each.id === this.here.channel)) this.go({ channel: mine.find((each) => !each.is_im)?.id ?? mine[0].id });
    else this.draw();
    if (this.here.home) await act("home", { user }).catch(complain);
  }

  /** Take a suggested request: as the right person, in the right channel, with its thread open. */
  async take(step) {
    if (this.store.viewer !== step.as) await this.become(step.as);
    this.go({ channel: step.channel });
    const message = await say(this.store, step.say, { channel: step.channel });
    this.step = { ...step, thread: message.ts };
    this.go({ channel: step.channel, thread: message.ts });
  }

  draw() {
    if (!this.store.state) return;
    const me = this.store.user(this.store.viewer);
    fill(document.getElementById("acting"), [el("span", { class: "wide-only" }, "You act as "), el("span", {}, me.real_name), el("span", { class: "wide-only" }, ` · ${date(this.store.state.now, "{time}")}`)]);
    document.title = `${this.here.home ? "Home" : this.channelName()} · Askfirst playground`;
    this.nav.draw();
    (this.here.home ? this.home : this.channel).draw();
    this.thread.draw();
    this.#announce();
  }

  channelName(id = this.here.channel) {
    const channel = this.store.channel(id);
    return !channel || channel.is_im ? "Askfirst" : `#${channel.name}`;
  }

  #heard = null;

  /** Tell screen readers of new messages, once each. */
  #announce() {
    const all = this.store.messages(this.here.channel);
    const newest = all.at(-1)?.ts ?? "";
    const before = this.#heard;
    this.#heard = `${this.here.channel}/${newest}`;
    if (before === null || !before.startsWith(this.here.channel) || this.#heard <= before) return;
    const fresh = all.filter((each) => `${this.here.channel}/${each.ts}` > before && each.user !== this.store.viewer);
    const live = document.getElementById("live");
    for (const each of fresh) live.append(el("p", {}, `${this.store.user(each.user)?.real_name}: ${each.text.slice(0, 200)}`));
    while (live.childNodes.length > 20) live.firstChild.remove();
  }
}

if (takeToken()) {
  const page = new Page();
  page.start().catch((error) => {
    document.getElementById("lost").hidden = false;
    complain(error);
  });
} else {
  fill(document.getElementById("conversation"), [
    el("div", { class: "empty" }, el("h1", {}, "The address is not complete"), el("p", {}, "Open the whole address that “askfirst playground” printed. It ends in a token, so that no other web page can click “Approve” here.")),
  ]);
}
