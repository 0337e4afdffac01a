// Right: what happens underneath. Verdicts with their explanation, checkpoints, timers, the audit chain, the process.

import { get, post } from "./actions.js";
import { Drawn, el, fill } from "./dom.js";
import { date } from "./render/text.js";
import { complain, tell } from "./toast.js";

const EVERY_MS = 1500;

export class Side {
  #root = document.getElementById("side");
  #drawn = new Drawn();
  #facts = null;
  #busy = false;
  /** Explanations that somebody closed. */
  #closed = new Set();
  /** Only the demo has an engine to look into; a bare workspace has none. */
  isDemo = false;

  constructor(page) {
    this.page = page;
    const opener = document.getElementById("open-side");
    const narrow = matchMedia("(max-width: 1180px)");
    const show = (isOpen) => {
      document.body.classList.toggle("side-open", isOpen);
      opener.setAttribute("aria-expanded", String(isOpen));
    };
    show(!narrow.matches);
    narrow.addEventListener("change", () => show(!narrow.matches));
    opener.addEventListener("click", () => show(!document.body.classList.contains("side-open")));
  }

  async start() {
    await this.#look();
    document.getElementById("open-side").hidden = !this.isDemo;
    this.#root.hidden = !this.isDemo;
    this.page.draw();
    if (!this.isDemo) return;
    for (const kind of ["message", "message_changed", "acked", "sockets", "demo", "status"]) this.page.store.addEventListener(kind, () => this.#look());
    setInterval(() => document.hidden || this.#look(), EVERY_MS);
  }

  async #look() {
    if (this.#busy) return;
    this.#busy = true;
    try {
      this.#facts = await get("/_demo/underneath");
      this.isDemo = true;
      this.#draw();
    } catch {
      // No engine here, or none right now: the page itself says when the connection is lost.
    } finally {
      this.#busy = false;
    }
  }

  async #do(path, body) {
    try {
      await post(`/_demo/${path}`, body);
      await this.#look();
    } catch (error) {
      complain(error);
    }
  }

  #draw() {
    const facts = this.#facts;
    fill(this.#root, [
      this.#part("bot", facts.bot, () => this.#bot(facts.bot)),
      this.#part("clock", [minute(facts.now), facts.skipped, facts.next_due], () => this.#clock(facts)),
      this.#part("waiting", [facts.waiting, minute(facts.now)], () => this.#waiting(facts)),
      this.#part("runs", facts.runs, () => this.#runs(facts.runs)),
      this.#part("audit", facts.audit, () => this.#audit(facts.audit)),
    ]);
  }

  #part(name, data, draw) {
    return this.#drawn.node(name, data, () => {
      const before = this.#root.querySelector(`[data-part="${name}"]`);
      const open = new Set([...(before?.querySelectorAll("details[open]") ?? [])].map((each) => each.dataset.key));
      const node = el("section", { "data-part": name }, ...draw());
      for (const each of node.querySelectorAll("details")) if (open.has(each.dataset.key)) each.open = true;
      return node;
    });
  }

  // ── The process ───────────────────────────────────────────────────────────────────────────────────────

  #bot(bot) {
    const isUp = bot.state === "running";
    const kill = el("button", { type: "button", class: "button danger", onclick: () => this.#do("kill").then(() => tell("kill -9: nothing could be saved at the last moment. Start it again and go on.")) }, "Kill the bot now");
    const start = el("button", { type: "button", class: "button primary", onclick: () => this.#do("start") }, "Start the bot again");
    const words = { running: `running as process ${bot.pid}`, starting: `starting as process ${bot.pid} …`, killed: "killed: every open question is in the database", stopped: `stopped by itself (exit code ${bot.code})` }[bot.state];
    return [
      el("h2", {}, "The bot"),
      el("p", { class: "bot-state" }, el("span", { class: `lamp ${bot.state}`, "aria-hidden": "true" }), ` ${words} · ${bot.model}`),
      bot.trouble ? el("pre", { class: "trouble" }, bot.trouble) : null,
      el("div", { class: "row" }, isUp || bot.state === "starting" ? kill : start),
    ].filter(Boolean);
  }

  // ── Time ──────────────────────────────────────────────────────────────────────────────────────────────

  #clock(facts) {
    const skip = (label, seconds) => el("button", { type: "button", class: "button", onclick: () => this.#do("skip", { seconds }) }, label);
    const next = facts.next_due ? el("button", { type: "button", class: "button primary", onclick: () => this.#do("skip", { to: facts.next_due }) }, "Skip to the next timer") : null;
    const skipped = facts.skipped ? ` · ${span(facts.skipped)} ahead of your clock` : "";
    return [
      el("h2", {}, "Time"),
      el("p", {}, `${date(facts.now, "{time}")}${skipped}`),
      el("div", { class: "row" }, next, skip("+5 min", 300), skip("+15 min", 900)),
    ];
  }

  // ── Questions ─────────────────────────────────────────────────────────────────────────────────────────

  #waiting(facts) {
    const title = el("h2", {}, "Waiting for people");
    if (!facts.waiting.length) return [title, el("p", { class: "none" }, "Nothing waits. A waiting run costs nothing: it is a few rows.")];
    return [title, ...facts.waiting.map((each, place) => this.#question(each, facts.now, place === 0))];
  }

  #question(each, now, isFirst) {
    const timers = each.timers.map((timer) => el("li", {}, el("b", {}, timer.kind), ` in ${span(Math.max(0, timer.due - now))}`, el("small", {}, ` at ${date(timer.due, "{time}")}`)));
    return el(
      "article",
      { class: "question" },
      el("h3", {}, `${each.kind}${each.tool ? ` · ${each.tool}` : ""}`, el("small", {}, ` ${each.id}`)),
      el("p", {}, each.reason),
      each.impact ? el("p", {}, el("b", {}, each.impact)) : null,
      each.quorum > 1 ? el("p", {}, `${each.votes} of ${each.quorum} agreed`) : null,
      el("ul", { class: "timers", "aria-label": "Timers" }, ...timers),
      each.verdict ? this.#verdict(each, isFirst) : null,
    );
  }

  #verdict(each, isFirst) {
    const verdict = each.verdict;
    const rules = verdict.heard.map((rule) => el("li", { class: rule.said }, el("b", {}, `${rule.block} ${rule.rule}`), ` ${rule.said}: ${rule.why}`));
    return el(
      "details",
      { "data-key": `verdict/${each.id}`, open: isFirst && !this.#closed.has(each.id), ontoggle: (event) => (event.target.open ? this.#closed.delete(each.id) : this.#closed.add(each.id)) },
      el("summary", {}, el("span", { class: `verdict ${verdict.kind}` }, verdict.kind), ` by ${verdict.rules.join(", ") || "default"} · policy ${verdict.policy}`),
      el("ul", { class: "rules" }, ...rules),
    );
  }

  // ── Runs ──────────────────────────────────────────────────────────────────────────────────────────────

  #runs(runs) {
    if (!runs.length) return [el("h2", {}, "Runs and checkpoints"), el("p", { class: "none" }, "No run yet.")];
    return [el("h2", {}, "Runs and checkpoints"), ...runs.map((run) => this.#run(run))];
  }

  #run(run) {
    const steps = run.next.length ? `next: ${run.next.join("; ")}` : run.ending || "nothing left to do";
    const verdicts = run.verdicts.map((one) => el("li", {}, el("span", { class: `verdict ${one.verdict}` }, one.verdict), ` ${one.tool ?? ""} `, el("small", {}, one.rule ?? "")));
    const entries = run.transcript.map((entry) => el("li", {}, el("b", {}, entry.kind), ` ${entry.words}`));
    return el(
      "details",
      { class: "run", "data-key": `run/${run.id}` },
      el("summary", {}, el("span", { class: `state ${run.state}` }, run.state), ` ${run.id}`),
      el("p", {}, `checkpoint version ${run.version}, ${run.entries} entries · ${steps}`),
      verdicts.length ? el("ul", { class: "verdicts", "aria-label": "Verdicts" }, ...verdicts) : null,
      el("ol", { class: "entries", "aria-label": "Transcript" }, ...entries),
    );
  }

  // ── Audit ─────────────────────────────────────────────────────────────────────────────────────────────

  #audit(audit) {
    const sound = audit.broken_at === null;
    const state = sound ? `✓ ${audit.count} records, unbroken` : `✗ broken at record ${audit.broken_at}`;
    const lines = audit.tail.map((one) => el("li", {}, el("b", {}, `${one.seq} ${one.kind}`), ` ${one.words} `, el("code", {}, one.hash.slice(0, 8))));
    return [el("h2", {}, "Audit chain"), el("p", { class: sound ? "sound" : "problem", role: "status" }, state), el("ol", { class: "audit", reversed: true }, ...lines)];
  }
}

const minute = (seconds) => Math.floor(seconds / 20);

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
