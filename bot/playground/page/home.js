// The app's Home tab, as the app published it for the person we act as.

import { Drawn, el, fill } from "./dom.js";
import { viewPlace } from "./modal.js";
import { blocks } from "./render/blocks.js";

export class Home {
  #root = document.getElementById("conversation");
  #drawn = new Drawn();
  #held = new Map();

  constructor(page) {
    this.page = page;
  }

  draw() {
    const { store } = this.page;
    const view = store.state.home;
    const name = store.user(store.viewer).real_name;
    const shown = this.#drawn.node("home", [store.viewer, view], () => this.#view(view));
    const title = this.#drawn.node("title", name, () => el("header", { class: "pane-title" }, el("h1", {}, "Askfirst"), el("small", {}, `Home tab, as ${name} sees it`)));
    fill(this.#root, [title, shown]);
  }

  #view(view) {
    if (!view) return el("div", { class: "empty" }, el("p", {}, "The app has published no Home tab for this person yet."));
    this.#held.clear();
    return el("div", { class: "home blocks" }, ...blocks(view.blocks, viewPlace(view, this.#held, this.page.store)));
  }
}
