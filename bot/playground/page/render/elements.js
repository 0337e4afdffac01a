// What people can use: buttons, menus, choices, fields. Native controls, so that keyboards and screen readers know them.

import { el } from "../dom.js";
import { text } from "./text.js";

/**
 * @typedef {object} Place where an element stands, and what using it does
 * @property {import("./text.js").Names} names
 * @property {(name: string, confirm?: object) => void} click
 * @property {(name: string, choice: any, confirm?: object) => Promise<boolean>} select
 * @property {Map<string, any>} held what was typed and picked so far: name → value
 * @property {Set<string>} hidden names that this person is not shown
 */

/** Return the control, or nothing if this person does not see it. */
export function element(it, block, place, labelled = {}) {
  const name = `${block.block_id}/${it.action_id}`;
  if (place.hidden.has(name)) return null;
  const draw = ELEMENTS[it.type];
  if (!draw) return unusable(`${it.type} cannot be used in the playground`);
  return draw(it, { name, block, place, labelled });
}

export const unusable = (words) => el("span", { class: "unknown" }, words);

const words = (object) => (typeof object === "string" ? object : (object?.text ?? ""));

// ── Buttons ─────────────────────────────────────────────────────────────────────────────────────────────

function button(it, { name, place }) {
  const style = it.style ? `button ${it.style}` : "button";
  const label = it.accessibility_label;
  return el("button", { type: "button", class: style, "aria-label": label, onclick: () => place.click(name, it.confirm) }, text(it.text, place.names));
}

function feedback(it, { place }) {
  // Both have the same action id, so they are told apart by what is on them.
  const side = (one) => el("button", { type: "button", class: "button", "aria-label": one.accessibility_label, onclick: () => place.click(words(one.text)) }, words(one.text));
  return el("span", { class: "row" }, side(it.positive_button), side(it.negative_button));
}

function overflow(it, { name, place }) {
  const items = it.options.map((option) =>
    el("button", { type: "button", role: "menuitem", onclick: () => place.select(name, option.value, it.confirm) }, words(option.text), option.description ? el("small", {}, words(option.description)) : null),
  );
  return menu("More actions", items);
}

/** A button that opens a short list of others. */
export function menu(label, items) {
  const list = el("div", { role: "menu", class: "menu", hidden: true }, ...items);
  const opener = el("button", { type: "button", class: "button quiet", "aria-haspopup": "menu", "aria-expanded": "false", "aria-label": label, onclick: () => show(list.hidden) }, "⋯");
  const show = (on) => {
    list.hidden = !on;
    opener.setAttribute("aria-expanded", String(on));
    if (on) items[0]?.focus({ preventScroll: true }), list.scrollIntoView({ block: "nearest" });
  };
  const whole = el("span", { class: "opens" }, opener, list);
  whole.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) show(false), opener.focus(), event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !list.hidden) items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus(), event.preventDefault();
  });
  whole.addEventListener("focusout", (event) => whole.contains(event.relatedTarget) || show(false));
  list.addEventListener("click", () => show(false));
  return whole;
}

// ── One of several, some of several ─────────────────────────────────────────────────────────────────────

const offered = (it) => [...(it.options ?? []), ...(it.option_groups ?? []).flatMap((group) => group.options)];

function pickOne(it, { name, place, labelled }, options, initial) {
  const held = place.held.has(name) ? place.held.get(name) : initial;
  const item = (option) => el("option", { value: option.value, selected: option.value === held }, option.label);
  const label = labelled["aria-labelledby"] ? {} : { "aria-label": words(it.placeholder) || "Choose" };
  const control = el("select", { ...label, ...labelled }, el("option", { value: "", disabled: true, selected: held === undefined }, words(it.placeholder) || "Choose…"));
  for (const each of options) control.append(each.options ? el("optgroup", { label: each.label }, ...each.options.map(item)) : item(each));
  control.addEventListener("change", () => place.select(name, control.value, it.confirm).then((sent) => sent || (control.value = held ?? "")));
  return control;
}

function staticSelect(it, where) {
  const plainOption = (option) => ({ value: option.value, label: words(option.text) });
  const groups = (it.option_groups ?? []).map((group) => ({ label: words(group.label), options: group.options.map(plainOption) }));
  return pickOne(it, where, [...(it.options ?? []).map(plainOption), ...groups], it.initial_option?.value);
}

const people = ({ place }) => [...place.names.users.values()].filter((one) => !one.deleted).map((one) => ({ value: one.id, label: one.real_name || one.name }));
const places = ({ place }) => [...place.names.channels.values()].filter((one) => !one.is_im).map((one) => ({ value: one.id, label: `#${one.name}` }));

let groups = 0;

/** Radio buttons or check boxes, each with its label and description. */
function choices(it, where, kind, options, initial) {
  const { name, place, labelled } = where;
  const held = place.held.has(name) ? place.held.get(name) : initial;
  const together = `choices-${(groups += 1)}`;
  const boxes = options.map((option) => {
    const id = `${together}-${option.value}`;
    const input = el("input", { type: kind, name: together, id, value: option.value, checked: kind === "radio" ? option.value === held : held.includes(option.value) });
    const about = option.description ? el("small", {}, option.description) : null;
    return { input, row: el("label", { class: "choice", for: id }, input, el("span", {}, option.label, about)) };
  });
  const whole = el("div", { class: "choices", role: kind === "radio" ? "radiogroup" : "group", ...labelled }, ...boxes.map((box) => box.row));
  whole.addEventListener("change", () => {
    const picked = boxes.filter((box) => box.input.checked).map((box) => box.input.value);
    place.select(name, kind === "radio" ? picked[0] : picked, it.confirm);
  });
  return whole;
}

const optionOf = (names) => (option) => ({ value: option.value, label: text(option.text, names), description: option.description ? text(option.description, names) : null });
const listOf = (it, where) => offered(it).map(optionOf(where.place.names));

// ── Fields ──────────────────────────────────────────────────────────────────────────────────────────────

function field(it, { name, block, place, labelled }, props, initial, read = (value) => value || null) {
  const tag = it.multiline || it.type === "rich_text_input" ? "textarea" : "input";
  const own = labelled["aria-labelledby"] ? {} : { "aria-label": words(it.placeholder) || it.type };
  const held = place.held.has(name) ? place.held.get(name) : initial;
  const control = el(tag, {
    ...own, ...labelled, ...props, rows: tag === "textarea" ? 4 : undefined, placeholder: words(it.placeholder) || undefined,
    minlength: it.min_length, maxlength: it.max_length, value: held ?? "",
  });
  control.addEventListener("input", () => place.held.set(name, read(control.value)));
  // An input tells the app only if the app asked for that.
  const tells = block.type !== "input" || block.dispatch_action;
  if (tells) control.addEventListener("change", () => place.select(name, read(control.value), it.confirm));
  return control;
}

const typed = (type, more = () => ({})) => (it, where) => field(it, where, { type, ...more(it) }, it.initial_value);
const asRichText = (value) => (value ? { type: "rich_text", elements: [{ type: "rich_text_section", elements: [{ type: "text", text: value }] }] } : null);
const seconds = (value) => (value ? Math.floor(new Date(value).getTime() / 1000) : null);
const local = (moment) => moment && new Date(moment * 1000 - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

const ELEMENTS = {
  button,
  icon_button: button,
  feedback_buttons: feedback,
  overflow,
  static_select: staticSelect,
  users_select: (it, where) => pickOne(it, where, people(where), it.initial_user),
  channels_select: (it, where) => pickOne(it, where, places(where), it.initial_channel),
  conversations_select: (it, where) => pickOne(it, where, places(where), it.initial_conversation),
  radio_buttons: (it, where) => choices(it, where, "radio", listOf(it, where), it.initial_option?.value),
  checkboxes: (it, where) => choices(it, where, "checkbox", listOf(it, where), (it.initial_options ?? []).map((one) => one.value)),
  multi_static_select: (it, where) => choices(it, where, "checkbox", listOf(it, where), (it.initial_options ?? []).map((one) => one.value)),
  multi_users_select: (it, where) => choices(it, where, "checkbox", people(where), it.initial_users ?? []),
  multi_channels_select: (it, where) => choices(it, where, "checkbox", places(where), it.initial_channels ?? []),
  multi_conversations_select: (it, where) => choices(it, where, "checkbox", places(where), it.initial_conversations ?? []),
  plain_text_input: typed("text"),
  email_text_input: typed("email"),
  url_text_input: typed("url"),
  number_input: typed("number", (it) => ({ min: it.min_value, max: it.max_value, step: it.is_decimal_allowed ? "any" : 1 })),
  rich_text_input: (it, where) => field(it, where, {}, "", asRichText),
  datepicker: (it, where) => field(it, where, { type: "date" }, it.initial_date),
  timepicker: (it, where) => field(it, where, { type: "time" }, it.initial_time),
  datetimepicker: (it, where) => field(it, where, { type: "datetime-local" }, local(it.initial_date_time), seconds),
};
