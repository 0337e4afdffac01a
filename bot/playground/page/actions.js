// What people do, sent to the workspace. The token came in the address after `#`, which no server is ever sent.

const KEY = "control-token";

export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return Boolean(token());
}

export const token = () => sessionStorage.getItem(KEY) ?? "";

export class Refused extends Error {}

export async function get(path) {
  return answer(await fetch(path, { headers: { "X-Playground-Token": token() }, cache: "no-store" }));
}

export async function post(path, body = {}) {
  const headers = { "X-Playground-Token": token(), "Content-Type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answer(response) {
  if (response.headers.get("Content-Type")?.startsWith("application/json")) {
    const body = await response.json();
    if (response.ok) return body;
    throw new Refused(body.error ?? `HTTP ${response.status}`);
  }
  throw new Refused((await response.text()) || `HTTP ${response.status}`);
}

/** Do something as a person; names of actions are those of `/_control/{action}`. */
export const act = (action, body) => post(`/_control/${action}`, body);

const escaped = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** Write as Slack's own client does: what was typed is escaped, then names become mentions. */
export function written(words, users) {
  const byName = new Map([...users.values()].map((user) => [user.name, user.id]));
  return escaped(words).replace(/(?<![\w@])@([a-z][\w.-]*)/gi, (whole, name) => {
    const id = byName.get(name.toLowerCase());
    return id ? `<@${id}>` : whole;
  });
}
