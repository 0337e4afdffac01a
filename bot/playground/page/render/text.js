// Text objects of Slack. plain_text is shown letter by letter; only mrkdwn is read for markup.

import { el, link } from "../dom.js";

const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", hourglass: "⌛",
  hourglass_flowing_sand: "⏳", pencil2: "✏️", eyes: "👀", wave: "👋", thumbsup: "👍", "+1": "👍", thumbsdown: "👎",
  "-1": "👎", lock: "🔒", rotating_light: "🚨", bell: "🔔", no_entry: "⛔", no_entry_sign: "🚫", rocket: "🚀",
  arrows_counterclockwise: "🔄", information_source: "ℹ️", question: "❓", exclamation: "❗", tada: "🎉", zzz: "💤",
  heavy_multiplication_x: "✖️", black_square_for_stop: "⏹️", octagonal_sign: "🛑", hammer_and_wrench: "🛠️", mag: "🔍",
  file_folder: "📁", wastebasket: "🗑️", memo: "📝", bust_in_silhouette: "👤", robot_face: "🤖", stopwatch: "⏱️",
};

export const emoji = (name) => EMOJI[name] ?? `:${name}:`;

/** @typedef {{users: Map<string, any>, channels: Map<string, any>, groups: Map<string, any>, viewer: string, now: number}} Names */

/** A text object, as the type that it says it is. */
export function text(object, names) {
  if (!object) return document.createTextNode("");
  if (typeof object === "string") return plain(object);
  return object.type === "mrkdwn" ? mrkdwn(object.text, names) : plain(object.text);
}

export function plain(words) {
  return document.createTextNode(String(words ?? ""));
}

export function mention(label, isMe = false) {
  return el("span", { class: isMe ? "mention me" : "mention" }, label);
}

export function user(id, names) {
  const known = names.users.get(id);
  return mention(`@${known ? known.name : id}`, id === names.viewer);
}

export function group(id, names) {
  const known = names.groups.get(id);
  return mention(`@${known ? known.handle : id}`, Boolean(known?.users.includes(names.viewer)));
}

export const channel = (id, names) => mention(`#${names.channels.get(id)?.name ?? id}`);

export const broadcast = (range) => el("span", { class: "mention broadcast" }, `@${range}`);

// ── Time ────────────────────────────────────────────────────────────────────────────────────────────────

const at = (seconds, options) => new Intl.DateTimeFormat(undefined, options).format(new Date(seconds * 1000));
const SHAPES = {
  date_num: { year: "numeric", month: "2-digit", day: "2-digit" },
  date: { year: "numeric", month: "long", day: "numeric" },
  date_short: { year: "numeric", month: "short", day: "numeric" },
  date_long: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  time: { hour: "2-digit", minute: "2-digit" },
  time_secs: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
};

/** Fill in `{date_short_pretty} at {time}` in the reader's own time zone. */
export function date(seconds, format, now = Date.now() / 1000) {
  return format.replace(/\{(\w+?)(_pretty)?\}/g, (whole, shape, pretty) => {
    if (shape === "ago") return `${Math.max(0, Math.round((now - seconds) / 60))} minutes ago`;
    if (!(shape in SHAPES)) return whole;
    const days = Math.round((midnight(seconds) - midnight(now)) / 86_400_000);
    if (pretty && Math.abs(days) <= 1) return ["yesterday", "today", "tomorrow"][days + 1];
    return at(seconds, SHAPES[shape]);
  });
}

const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0);

// ── mrkdwn ──────────────────────────────────────────────────────────────────────────────────────────────

const unescaped = (words) => words.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

/** Slack's own markup, read the way Slack reads it; everything else stays literal. */
export function mrkdwn(source, names) {
  const whole = document.createDocumentFragment();
  const parts = String(source ?? "").split(/```([\s\S]+?)```/);
  parts.forEach((part, place) => {
    if (place % 2) whole.append(el("pre", {}, unescaped(part.replace(/^\n|\n$/g, ""))));
    else if (part) lines(part, names, whole);
  });
  return whole;
}

function lines(source, names, into) {
  let quote = null;
  source.split("\n").forEach((line, place) => {
    const quoted = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if (quoted) {
      quote ??= into.appendChild(el("blockquote"));
      if (quote.childNodes.length) quote.append("\n");
      quote.append(...inline(quoted[1], names));
      return;
    }
    if (place && !quote) into.append("\n");
    quote = null;
    into.append(...inline(line, names));
  });
}

const INLINE = /(?<code>`[^`\n]+`)|(?<tag><[^<>\n]+>)|(?<emoji>:[a-z0-9_+-]+:)|(?<![\p{L}\p{N}])(?<mark>[*_~])(?=\S)(?<inner>[^\n]*?\S)\k<mark>(?![\p{L}\p{N}])/u;
const MARKS = { "*": "strong", _: "em", "~": "s" };

function inline(source, names) {
  const found = [];
  let rest = source;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    if (match.index) found.push(plain(unescaped(rest.slice(0, match.index))));
    found.push(piece(match.groups, names));
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest) found.push(plain(unescaped(rest)));
  return found;
}

function piece({ code, tag, emoji: name, mark, inner }, names) {
  if (code) return el("code", {}, unescaped(code.slice(1, -1)));
  if (tag) return reference(tag.slice(1, -1), names);
  if (name) return plain(emoji(name.slice(1, -1)));
  return el(MARKS[mark], {}, ...inline(inner, names));
}

function reference(body, names) {
  const [target, label] = split(body);
  if (target.startsWith("@")) return user(target.slice(1), names);
  if (target.startsWith("#")) return channel(target.slice(1), names);
  if (target.startsWith("!subteam^")) return group(target.slice(9), names);
  if (target.startsWith("!date^")) {
    const [, seconds, format] = target.split("^");
    return el("time", { title: label }, date(Number(seconds), unescaped(format ?? ""), names.now));
  }
  if (/^!(here|channel|everyone)$/.test(target)) return broadcast(target.slice(1));
  return link(unescaped(target), label && unescaped(label));
}

function split(body) {
  const bar = body.indexOf("|");
  return bar < 0 ? [body, undefined] : [body.slice(0, bar), body.slice(bar + 1)];
}
