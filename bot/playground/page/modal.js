// Modals and confirm dialogs: native <dialog>, which keeps the focus inside and gives it back afterwards.

import { act } from "./actions.js";
import { el, fill } from "./dom.js";
import { blocks } from "./render/blocks.js";
import { text } from "./render/text.js";
import { complain } from "./toast.js";

const PLAIN = { users: new Map(), channels: new Map(), groups: new Map(), viewer: "", now: Date.now() / 1000 };

/** Show Slack's confirm dialog; resolves to whether the person confirmed. */
export function confirmed(confirm) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
    const done = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const yes = confirm.style === "danger" ? "button danger solid" : "button primary";
    dialog.append(
      el("h2", { id: "confirm-title" }, text(confirm.title, PLAIN)),
      el("p", { class: "text" }, text(confirm.text, PLAIN)),
      el("div", { class: "buttons" }, el("button", { type: "button", class: "button", onclick: () => done(false) }, text(confirm.deny, PLAIN)), el("button", { type: "button", class: yes, onclick: () => done(true) }, text(confirm.confirm, PLAIN))),
    );
    dialog.addEventListener("cancel", (event) => (event.preventDefault(), done(false)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** The modal in front of the person we act as. */
export class Modal {
  #dialog = document.getElementById("modal");
  #store;
  #view = null;
  #drawn = "";
  /** What was typed, by view, so that an update by the app or an error does not lose it. */
  #held = new Map();

  constructor(store) {
    this.#store = store;
    store.addEventListener("change", () => this.#draw());
    this.#dialog.addEventListener("cancel", (event) => (event.preventDefault(), this.#close()));
  }

  #draw() {
    const view = this.#store.state.modals.at(-1) ?? null;
    const drawn = JSON.stringify(view);
    if (drawn === this.#drawn) return;
    const isOther = view?.id !== this.#view?.id;
    this.#drawn = drawn;
    this.#view = view;
    if (!view) {
      if (this.#dialog.open) this.#dialog.close();
      return;
    }
    fill(this.#dialog, [this.#form(view)]);
    if (!this.#dialog.open) this.#dialog.showModal();
    if (isOther || Object.keys(view.errors ?? {}).length) this.#focus();
  }

  #focus() {
    const first = this.#dialog.querySelector('[aria-invalid="true"], [aria-invalid="true"] input') ?? this.#dialog.querySelector(".blocks input, .blocks textarea, .blocks select, .submit, .close");
    first?.focus();
  }

  #form(view) {
    const held = this.#held.get(view.id) ?? this.#held.set(view.id, new Map()).get(view.id);
    const trouble = el("div", { class: "problem", role: "alert" }, view.trouble ?? "");
    const submit = view.submit ? el("button", { type: "submit", class: "button primary submit" }, text(view.submit, PLAIN)) : null;
    const form = el(
      "form",
      { method: "dialog", novalidate: true },
      el("header", {}, el("h2", { id: "modal-title" }, text(view.title, PLAIN)), el("button", { type: "button", class: "link close-x", "aria-label": "Close", onclick: () => this.#close() }, "✕")),
      el("div", { class: "blocks" }, ...blocks(view.blocks, this.#place(view, held))),
      trouble,
      el("footer", { class: "buttons" }, el("button", { type: "button", class: "button close", onclick: () => this.#close() }, view.close ? text(view.close, PLAIN) : "Close"), submit),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      submit.disabled = true;
      trouble.textContent = "";
      try {
        await act("submit", { user: this.#store.viewer, view: view.id, values: Object.fromEntries(held) });
      } catch (error) {
        trouble.textContent = error.message;
        submit.disabled = false;
      }
      // Otherwise it stays so until the app has answered: with another view, with errors, or not at all.
    });
    return form;
  }

  #place(view, held) {
    return viewPlace(view, held, this.#store);
  }

  async #close() {
    try {
      await act("close", { user: this.#store.viewer, view: this.#view.id });
    } catch (error) {
      complain(error);
    }
  }
}

/** What using a control in a modal or the Home tab does. */
export function viewPlace(view, held, store) {
  const inputs = new Set((view.blocks ?? []).filter((block) => block.type === "input" && !block.dispatch_action).map((block) => `${block.block_id}/${block.element.action_id}`));
  const send = async (action, name, more, confirm) => {
    if (confirm && !(await confirmed(confirm))) return false;
    try {
      await act(action, { user: store.viewer, view: view.id, name, ...more });
      return true;
    } catch (error) {
      complain(error);
      return false;
    }
  };
  return {
    names: store.names,
    hidden: new Set(),
    errors: view.errors,
    held,
    click: (name, confirm) => send("click", name, {}, confirm),
    select: async (name, choice, confirm) => {
      held.set(name, choice);
      return inputs.has(name) || send("select", name, { choice }, confirm);
    },
  };
}
