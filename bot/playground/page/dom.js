// The only way elements are made here: text becomes text nodes, never markup.

/**
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; `on…` are listeners, `class` is the class
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in LIVE) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child || child === "") node.append(child);
  return node;
}

const LIVE = { value: 1, checked: 1, disabled: 1, selected: 1 };

/** Show these children, keeping those nodes that are already there in place. */
export function fill(parent, children) {
  children.forEach((child, place) => {
    if (parent.childNodes[place] !== child) parent.insertBefore(child, parent.childNodes[place] ?? null);
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

/** Remembers what was drawn from the same data, so that focus, selection and half-typed text survive a redraw. */
export class Drawn {
  #kept = new Map();

  /** Return the node of `key`, drawn anew only if `data` changed. */
  node(key, data, draw) {
    const text = JSON.stringify(data);
    const known = this.#kept.get(key);
    if (known && known.text === text) return known.node;
    const node = draw();
    this.#kept.set(key, { text, node });
    return node;
  }

  clear() {
    this.#kept.clear();
  }
}

export function isHttp(address) {
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** A link that leads nowhere but to the web; anything else is shown as the text it is. */
export function link(address, label) {
  if (!isHttp(address)) return document.createTextNode(label ?? address);
  return el("a", { href: address, target: "_blank", rel: "noreferrer noopener", title: address }, label || address);
}
