// The `markdown` block: the common part of Markdown, drawn with elements. HTML in it stays text.

import { el, link } from "../dom.js";

/** @param {string} source */
export function markdown(source) {
  const whole = el("div", { class: "rich markdown" });
  const rows = String(source ?? "").split("\n");
  while (rows.length) whole.append(block(rows));
  return whole;
}

const LIST = /^(\s*)(?:[-*+•]|(\d+)[.)])\s+(.*)$/;

function block(rows) {
  const row = rows[0];
  let found;
  if ((found = /^\s*(```+|~~~+)/.exec(row))) return fenced(rows, found[1]);
  if ((found = /^(#{1,6})\s+(.*?)\s*#*$/.exec(row))) return rows.shift(), el("h4", {}, ...inline(found[2]));
  if (/^\s*([-*_])(?:\s*\1){2,}\s*$/.test(row)) return rows.shift(), el("hr");
  if (/^\s*>/.test(row)) return el("blockquote", {}, ...inline(take(rows, (each) => /^\s*>/.test(each)).map((each) => each.replace(/^\s*> ?/, "")).join("\n")));
  if (LIST.test(row)) return list(rows);
  if (/^\s*\|.*\|\s*$/.test(row) && /^\s*\|[\s:|-]+\|\s*$/.test(rows[1] ?? "")) return table(rows);
  if (!row.trim()) return rows.shift(), document.createTextNode("");
  return el("p", {}, ...inline(take(rows, (each, place) => !place || isText(each)).join("\n")));
}

const isText = (row) => row.trim() !== "" && !/^\s*(```|~~~|>|#{1,6}\s)/.test(row) && !LIST.test(row);

function take(rows, wanted) {
  const taken = [];
  while (rows.length && wanted(rows[0], taken.length)) taken.push(rows.shift());
  return taken;
}

function fenced(rows, fence) {
  rows.shift();
  const inside = take(rows, (row) => !row.trim().startsWith(fence));
  rows.shift();
  return el("pre", {}, inside.join("\n"));
}

function list(rows) {
  const ordered = LIST.exec(rows[0])[2] !== undefined;
  const items = take(rows, (row) => LIST.test(row)).map((row) => {
    const [, indent, , words] = LIST.exec(row);
    return el("li", { class: `indent-${Math.min(8, indent.length >> 1)}` }, ...inline(words));
  });
  return el(ordered ? "ol" : "ul", {}, ...items);
}

function table(rows) {
  const cells = (row, tag) => el("tr", {}, ...row.trim().slice(1, -1).split("|").map((cell) => el(tag, {}, ...inline(cell.trim()))));
  const head = cells(rows.shift(), "th");
  rows.shift();
  const body = take(rows, (row) => /^\s*\|/.test(row)).map((row) => cells(row, "td"));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
}

const INLINE = /(?<code>`+)(?<coded>[^`]+)\k<code>|\[(?<label>[^\]\n]+)\]\((?<address>[^)\s]+)\)|(?<bare>https?:\/\/[^\s<>"')\]]+)|(?<strong>\*\*|__)(?=\S)(?<bold>[\s\S]+?\S?)\k<strong>|(?<![\p{L}\p{N}*_])(?<em>[*_])(?=[^\s*_])(?<italic>[^\n*_]*?[^\s*_])\k<em>(?![\p{L}\p{N}])|~~(?<strike>[^~\n]+)~~|\\(?<literal>[\\`*_{}[\]()#+.!|~<>-])/u;

function inline(source) {
  const found = [];
  let rest = source;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    if (match.index) found.push(rest.slice(0, match.index));
    found.push(piece(match.groups));
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest) found.push(rest);
  return found;
}

function piece(groups) {
  if (groups.coded) return el("code", {}, groups.coded.trim() || groups.coded);
  if (groups.address) return link(groups.address, groups.label);
  if (groups.bare) return link(groups.bare);
  if (groups.bold) return el("strong", {}, ...inline(groups.bold));
  if (groups.italic) return el("em", {}, ...inline(groups.italic));
  if (groups.strike) return el("s", {}, ...inline(groups.strike));
  return groups.literal;
}
