// Short notices at the edge of the page: what could not be done, and why.

import { el } from "./dom.js";

const SECONDS = 8;

export function tell(words, kind = "info") {
  const box = document.getElementById("toasts");
  const toast = el("div", { class: `toast ${kind}`, role: kind === "info" ? "status" : "alert" }, words, el("button", { type: "button", class: "link", "aria-label": "Dismiss", onclick: () => toast.remove() }, "✕"));
  box.append(toast);
  setTimeout(() => toast.remove(), SECONDS * 1000);
}

export const complain = (error) => tell(String(error.message ?? error), "error");
