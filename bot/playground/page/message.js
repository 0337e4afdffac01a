// One message: who, when, what; its buttons, its reactions, its thread.

import { act } from "./actions.js";
import { confirmed } from "./modal.js";
import { el } from "./dom.js";
import { blocks } from "./render/blocks.js";
import { date, emoji, mrkdwn } from "./render/text.js";
import { complain } from "./toast.js";

/** @param {any} it @param {import("./store.js").Store} store @param {{openThread?: Function, dismiss?: Function, replies?: any[]}} ways */
export function message(it, store, { openThread, dismiss, replies = [] } = {}) {
  const author = store.user(it.user);
  const name = author?.real_name ?? it.user;
  const seconds = Number(it.ts);
  return el(
    "article",
    { class: it.is_ephemeral ? "message ephemeral" : "message", "data-ts": it.ts, "aria-label": `${name} at ${date(seconds, "{time}")}` },
    avatar(author),
    el(
      "div",
      { class: "body" },
      el(
        "header",
        {},
        el("strong", { class: "author" }, name),
        author?.is_bot ? el("span", { class: "badge" }, "APP") : null,
        author?.is_restricted ? el("span", { class: "badge" }, "GUEST") : null,
        el("time", { datetime: new Date(seconds * 1000).toISOString(), title: date(seconds, "{date_long} {time_secs}") }, date(seconds, "{time}")),
        it.is_ephemeral ? el("span", { class: "only-you" }, "Only visible to you ", el("button", { type: "button", class: "link", onclick: () => dismiss?.(it) }, "Dismiss")) : null,
      ),
      el("div", { class: "content" }, ...content(it, store)),
      reactions(it),
      thread(it, replies, store, openThread),
    ),
  );
}

function content(it, store) {
  // What a person typed is in `text`, escaped as Slack does it; the copy in blocks is not parsed into mentions.
  const isBot = Boolean(it.bot_id);
  const shown = isBot && it.blocks?.length ? blocks(it.blocks, place(it, store)) : it.text ? [el("div", { class: "text" }, mrkdwn(it.text, store.names))] : [];
  if (it.streaming_state === "in_progress") shown.push(el("span", { class: "streaming", role: "status" }, "writing …"));
  else if (it.edited && !isBot) shown.push(el("small", { class: "edited" }, "(edited)"));
  for (const file of it.files ?? []) shown.push(el("div", { class: "picture" }, `File: ${file.title ?? file.name}`));
  for (const attachment of it.attachments ?? []) {
    const inside = attachment.blocks ? blocks(attachment.blocks, place(it, store)) : [el("div", { class: "text" }, mrkdwn(attachment.text ?? attachment.fallback ?? "", store.names))];
    shown.push(el("div", { class: "attachment" }, ...inside));
  }
  return shown;
}

/** What using a control in this message does. */
function place(it, store) {
  const where = () => ({ user: store.viewer, channel: it.channel ?? channelOf(it, store), ts: it.ts });
  const held = new Map();
  return {
    names: store.names,
    hidden: new Set(it.hidden_controls ?? []),
    held,
    click: (name, confirm) => use("click", { ...where(), name }, confirm),
    select: (name, choice, confirm) => {
      held.set(name, choice);
      return use("select", { ...where(), name, choice }, confirm);
    },
  };
}

const channelOf = (it, store) => Object.keys(store.state.messages).find((id) => store.messages(id).some((each) => each.ts === it.ts));

/** Ask first if the app wants that, then do it; tell what went wrong. Returns whether it was sent. */
export async function use(action, body, confirm) {
  if (confirm && !(await confirmed(confirm))) return false;
  try {
    await act(action, body);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

function reactions(it) {
  if (!it.reactions?.length) return null;
  return el("div", { class: "reactions" }, ...it.reactions.map((each) => el("span", { class: "reaction" }, `${emoji(each.name)} ${each.count}`)));
}

function thread(it, replies, store, openThread) {
  if (!openThread || it.is_ephemeral) return null;
  if (!replies.length) return el("button", { type: "button", class: "link reply", onclick: openThread }, "Reply in thread");
  const last = Number(replies.at(-1).ts);
  const faces = [...new Set(replies.map((each) => each.user))].slice(0, 4).map((id) => avatar(store.user(id), "tiny"));
  const status = store.status(channelOf(it, store), it.ts);
  return el(
    "button",
    { type: "button", class: "replies", onclick: openThread },
    ...faces,
    el("b", {}, replies.length === 1 ? "1 reply" : `${replies.length} replies`),
    el("small", {}, status ? `Askfirst ${status}` : `last at ${date(last, "{time}")}`),
  );
}

const COLOURS = 6;

export function avatar(user, size = "") {
  const name = user?.real_name ?? "?";
  const tint = [...(user?.id ?? "")].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % COLOURS;
  if (user?.is_bot) return el("img", { class: `avatar ${size}`, src: "icon.svg", alt: "" });
  const letters = name.split(" ").map((word) => word[0]).slice(0, 2).join("");
  return el("span", { class: `avatar tint-${tint} ${size}`, "aria-hidden": "true" }, letters);
}
