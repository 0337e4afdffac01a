// One function for each block. What is not known is shown as a box that says so: nothing disappears.

import { el, link } from "../dom.js";
import { element } from "./elements.js";
import { markdown } from "./markdown.js";
import { richText } from "./rich_text.js";
import { text } from "./text.js";

/** @param {any[]} list @param {import("./elements.js").Place} place */
export function blocks(list, place) {
  return (list ?? []).map((each) => block(each, place));
}

export function block(it, place) {
  const draw = BLOCKS[it?.type];
  const node = draw ? draw(it, place) : unknown(it);
  node.dataset.block = it?.type ?? "nothing";
  return node;
}

export function unknown(it) {
  return el(
    "details",
    { class: "unknown" },
    el("summary", {}, `A block of type “${it?.type}”, which this page does not draw`),
    el("pre", {}, JSON.stringify(it, null, 2)),
  );
}

const used = (list, it, place) => (list ?? []).map((each) => element(each, it, place)).filter(Boolean);

function section(it, place) {
  const main = el("div", { class: "main" });
  if (it.text) main.append(el("div", { class: "text" }, text(it.text, place.names)));
  if (it.fields) main.append(el("div", { class: "fields" }, ...it.fields.map((field) => el("div", { class: "text" }, text(field, place.names)))));
  const beside = it.accessory?.type === "image" ? picture(it.accessory) : it.accessory && element(it.accessory, it, place);
  return el("div", { class: "section" }, main, beside ? el("div", { class: "accessory" }, beside) : null);
}

// Pictures of other servers would tell them who reads along, so they are named and not loaded.
const picture = (it) => el("span", { class: "picture" }, `Picture: ${it.alt_text ?? "without a description"} `, it.image_url ? link(it.image_url, "open") : null);

let numbers = 0;

function input(it, place) {
  const id = `input-${(numbers += 1)}`;
  const problem = place.errors?.[it.block_id];
  const described = [it.hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const labelled = {
    "aria-labelledby": id,
    "aria-describedby": described || undefined,
    "aria-invalid": problem ? "true" : undefined,
    "aria-required": it.optional ? undefined : "true",
  };
  return el(
    "div",
    { class: problem ? "input wrong" : "input" },
    el("div", { class: "label", id }, text(it.label, place.names), it.optional ? el("span", { class: "optional" }, " (optional)") : null),
    element(it.element, it, place, labelled),
    it.hint ? el("div", { class: "hint", id: `${id}-hint` }, text(it.hint, place.names)) : null,
    problem ? el("div", { class: "problem", id: `${id}-problem`, role: "alert" }, problem) : null,
  );
}

function table(it, place) {
  const cell = (each) => (each.type === "rich_text" ? richText(each, place.names) : (each.text ?? String(each.value ?? "")));
  const [head, ...rows] = it.rows ?? [];
  const row = (cells, tag) => el("tr", {}, ...(cells ?? []).map((each) => el(tag, {}, cell(each))));
  return el("div", { class: "scroll" }, el("table", {}, it.caption ? el("caption", {}, it.caption) : null, el("thead", {}, row(head, "th")), el("tbody", {}, ...rows.map((each) => row(each, "td")))));
}

const TASK = { pending: ["○", "to do"], in_progress: ["◔", "running"], complete: ["✓", "done"], error: ["✗", "failed"] };

function task(it, place) {
  const [sign, word] = TASK[it.status] ?? TASK.pending;
  const more = [it.details, it.output].filter(Boolean).map((each) => richText(each, place.names));
  return el("div", { class: `task ${it.status ?? "pending"}` }, el("span", { class: "sign", title: word, "aria-label": word, role: "img" }, sign), el("span", {}, String(it.title)), ...more);
}

function card(it, place) {
  const part = (name) => (it[name] ? el("div", { class: `card-${name}` }, text(it[name], place.names)) : null);
  const row = used(it.actions, it, place);
  return el("div", { class: "card" }, part("title"), part("subtitle"), part("body"), part("subtext"), row.length ? el("div", { class: "row" }, ...row) : null);
}

function container(it, place) {
  const title = it.title ? text(it.title, place.names) : it.rich_text_title ? richText(it.rich_text_title, place.names) : "";
  const inside = blocks(it.child_blocks, place);
  if (!it.is_collapsible) return el("div", { class: "container" }, el("div", { class: "container-title" }, title), ...inside);
  return el("details", { class: "container", open: !it.default_collapsed }, el("summary", {}, title), ...inside);
}

const BLOCKS = {
  section,
  input,
  table,
  card,
  container,
  data_table: table,
  task_card: task,
  actions: (it, place) => el("div", { class: "actions" }, ...used(it.elements, it, place)),
  context_actions: (it, place) => el("div", { class: "actions" }, ...used(it.elements, it, place)),
  alert: (it, place) => el("div", { class: `alert ${it.level ?? "default"}`, role: "note" }, text(it.text, place.names)),
  context: (it, place) =>
    el("div", { class: "context" }, ...(it.elements ?? []).map((each) => (each.type === "image" ? picture(each) : el("span", {}, text(each, place.names))))),
  divider: () => el("hr"),
  header: (it, place) => el("h3", { class: "header" }, text(it.text, place.names)),
  image: (it, place) => el("div", { class: "image" }, it.title ? el("div", {}, text(it.title, place.names)) : null, picture(it)),
  markdown: (it) => markdown(it.text),
  rich_text: (it, place) => richText(it, place.names),
  plan: (it, place) => el("div", { class: "plan" }, el("div", { class: "container-title" }, String(it.title)), ...blocks(it.tasks, place)),
  carousel: (it, place) => el("div", { class: "carousel" }, ...blocks(it.elements, place)),
};
