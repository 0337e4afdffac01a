// Left: whom we act as, channels, the app.

import { el, fill } from "./dom.js";
import { avatar } from "./message.js";
import { complain } from "./toast.js";

const ROLES = {
  U0REQUESTER: "asks",
  U0APPROVER: "on call, approves",
  U0SECOND: "on call, approves",
  U0GUEST: "guest",
  U0STRANGER: "other organisation",
};

export class Nav {
  #root = document.getElementById("nav");
  #opener = document.getElementById("open-nav");
  #drawn = "";
  #seen = new Map();

  constructor(page) {
    this.page = page;
    this.#opener.addEventListener("click", () => this.#show(!document.body.classList.contains("nav-open")));
    this.#root.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  /** On a narrow screen the list lies over the conversation until something was chosen. */
  close() {
    if (document.body.classList.contains("nav-open")) this.#show(false);
  }

  #show(isOpen) {
    document.body.classList.toggle("nav-open", isOpen);
    this.#opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.#root.querySelector("button")?.focus();
    else this.#opener.focus();
  }

  draw() {
    const { store, here } = this.page;
    const channels = store.state.channels.filter((each) => !each.is_archived);
    if (!here.home) this.#seen.set(this.#key(here.channel), this.#newest(here.channel));
    const shown = [store.viewer, here.channel, here.home, channels.map((each) => [each.id, this.#isNew(each.id)])];
    // Redrawn only if something on it changed: the focus stays where it is.
    const drawn = JSON.stringify(shown);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const focused = document.activeElement?.dataset?.go;
    fill(this.#root, [
      el("h2", { id: "people-title" }, "Act as"),
      el("ul", { "aria-labelledby": "people-title" }, ...this.#people()),
      el("h2", { id: "channels-title" }, "Channels"),
      el("ul", { "aria-labelledby": "channels-title" }, ...channels.filter((each) => !each.is_im).map((each) => this.#channel(each))),
      el("h2", { id: "apps-title" }, "Apps"),
      el("ul", { "aria-labelledby": "apps-title" }, this.#app("Askfirst: Home", "home", here.home, () => this.page.openHome()), ...channels.filter((each) => each.is_im).map((each) => this.#dm(each))),
    ]);
    if (focused) this.#root.querySelector(`[data-go="${CSS.escape(focused)}"]`)?.focus();
  }

  #people() {
    const { store } = this.page;
    return [...store.names.users.values()]
      .filter((user) => !user.is_bot && !user.deleted)
      .map((user) => {
        const isMe = user.id === store.viewer;
        const go = () => this.page.become(user.id).catch(complain);
        const role = ROLES[user.id] ?? (user.is_restricted ? "guest" : "");
        return el("li", {}, el("button", { type: "button", class: "person", "data-go": user.id, "aria-pressed": String(isMe), onclick: go }, avatar(user, "small"), el("span", {}, user.real_name, el("small", {}, role))));
      });
  }

  #channel(channel) {
    const { here } = this.page;
    const isHere = !here.home && here.channel === channel.id;
    const sign = channel.is_private ? el("img", { src: "lock.svg", alt: "private" }) : "#";
    const isNew = !isHere && this.#isNew(channel.id);
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: isNew ? "channel new" : "channel", "data-go": channel.id, "aria-current": isHere ? "page" : undefined, onclick: () => this.page.go({ channel: channel.id }) },
        el("span", { class: "sign" }, sign),
        el("span", {}, channel.name),
        isNew ? el("span", { class: "dot" }, el("span", { class: "sr" }, "new messages")) : null,
      ),
    );
  }

  #dm(channel) {
    const isHere = !this.page.here.home && this.page.here.channel === channel.id;
    return this.#app("Askfirst: Messages", channel.id, isHere, () => this.page.go({ channel: channel.id }));
  }

  #app(label, go, isHere, onclick) {
    return el("li", {}, el("button", { type: "button", class: "channel", "data-go": go, "aria-current": isHere ? "page" : undefined, onclick }, el("img", { class: "sign", src: "icon.svg", alt: "" }), el("span", {}, label)));
  }

  #key(channel) {
    return `${this.page.store.viewer}/${channel}`;
  }

  #newest(channel) {
    return this.page.store.messages(channel).at(-1)?.ts ?? "";
  }

  #isNew(channel) {
    return this.#newest(channel) > (this.#seen.get(this.#key(channel)) ?? this.#start());
  }

  #opened = "";

  /** What was there when the page opened is not new. */
  #start() {
    this.#opened ||= String(this.page.store.state.now);
    return this.#opened;
  }
}
