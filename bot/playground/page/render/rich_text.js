// rich_text: structure instead of markup. The words in it are literal, whatever they look like.

import { el, link } from "../dom.js";
import { broadcast, channel, date, emoji, group, plain, user } from "./text.js";

export function richText(block, names) {
  return el("div", { class: "rich" }, ...(block.elements ?? []).map((part) => PARTS[part.type]?.(part, names) ?? odd(part)));
}

const PARTS = {
  rich_text_section: (part, names) => el("p", {}, ...pieces(part, names)),
  rich_text_preformatted: (part, names) => el("pre", {}, ...pieces(part, names)),
  rich_text_quote: (part, names) => el("blockquote", {}, ...pieces(part, names)),
  rich_text_list: (part, names) =>
    el(
      part.style === "ordered" ? "ol" : "ul",
      { class: `indent-${Math.min(part.indent ?? 0, 8)}`, start: part.offset ? part.offset + 1 : undefined },
      ...(part.elements ?? []).map((item) => el("li", {}, ...pieces(item, names))),
    ),
};

const pieces = (part, names) => (part.elements ?? []).map((each) => styled(each, names));

const PIECES = {
  text: (each) => plain(each.text),
  link: (each) => link(each.url, each.text),
  emoji: (each) => plain(each.unicode ? fromCodes(each.unicode) : emoji(each.name)),
  user: (each, names) => user(each.user_id, names),
  usergroup: (each, names) => group(each.usergroup_id, names),
  channel: (each, names) => channel(each.channel_id, names),
  broadcast: (each) => broadcast(each.range),
  date: (each, names) => el("time", { title: each.fallback }, date(each.timestamp, each.format, names.now)),
  color: (each) => el("code", {}, each.value),
  team: (each) => plain(each.team_id),
};

const STYLES = { bold: "strong", italic: "em", strike: "s", code: "code", underline: "u", highlight: "mark" };

function styled(each, names) {
  let node = PIECES[each.type]?.(each, names) ?? odd(each);
  for (const [name, on] of Object.entries(each.style ?? {})) if (on && STYLES[name]) node = el(STYLES[name], {}, node);
  return node;
}

const odd = (part) => el("span", { class: "unknown-inline" }, `[${part?.type}]`);

function fromCodes(codes) {
  const numbers = codes.split("-").map((code) => parseInt(code, 16));
  return numbers.some(Number.isNaN) ? codes : String.fromCodePoint(...numbers);
}
