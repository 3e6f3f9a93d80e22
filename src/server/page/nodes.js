// Makes nodes of tokens (marks.js). No string is parsed as HTML: characters end up in text nodes
// and in attributes that hold no address, except for http and https links, or are dropped as
// markup. No image is fetched: a link to it is shown.

import {spansOf, withTabs} from "./marks.js";
import {formulaNode} from "./mathml.js";

export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const NAMES = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®",
  trade: "™", hellip: "…", ndash: "–", mdash: "—", lsquo: "‘", rsquo: "’", ldquo: "“",
  rdquo: "”", laquo: "«", raquo: "»", times: "×", divide: "÷", minus: "−", plusmn: "±",
  middot: "·", bull: "•", deg: "°", larr: "←", rarr: "→", uarr: "↑", darr: "↓", le: "≤", ge: "≥",
  ne: "≠", asymp: "≈", infin: "∞", sum: "∑", radic: "√", micro: "µ", sect: "§", para: "¶",
  euro: "€", pound: "£", yen: "¥", cent: "¢", frac12: "½", frac14: "¼", frac34: "¾",
  auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß", eacute: "é",
  egrave: "è", agrave: "à", ccedil: "ç", ntilde: "ñ", alpha: "α", beta: "β", gamma: "γ",
  delta: "δ", epsilon: "ε", lambda: "λ", mu: "μ", pi: "π", sigma: "σ", omega: "ω",
};

// Returns a text with its entities decoded, which marked or the model may have written.
export function decoded(text) {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,8}));/g,
                      (whole, decimal, hex, name) => {
    if (name) return Object.hasOwn(NAMES, name) ? NAMES[name] : whole;
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    const valid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
    return valid ? String.fromCodePoint(code) : "\ufffd";
  });
}

// Returns the address of a link that may be followed (http, https), else null.
export function safeAddress(text) {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.username || url.password ? null : url.href;
  } catch {
    return null;
  }
}

const MOST_ADDRESS = 80;

function addLink(parent, token, tools) {
  const address = safeAddress(decoded(token.href ?? ""));
  if (!address) {
    parent.append(token.raw);
    return;
  }
  const link = element("a", "");
  link.href = address;
  link.rel = "noopener noreferrer";
  link.target = "_blank";
  if (token.tokens) addSpans(link, token.tokens, tools);
  else link.append(decoded(token.text) || "Image");
  parent.append(link);
  const said = link.textContent.trim();
  if (said === address || said === token.href || `${said}/` === address) return;
  const told = address.length > MOST_ADDRESS ? `${address.slice(0, MOST_ADDRESS)}…` : address;
  const where = element("span", "address", ` (${told})`);
  where.title = address;
  parent.append(where);
}

function addSpans(parent, tokens, tools) {
  for (const token of spansOf(tokens)) addSpan(parent, token, tools);
}

function addSpan(parent, token, tools) {
  switch (token.type) {
    case "strong":
    case "em":
    case "del": {
      const wrap = element(token.type, "");
      addSpans(wrap, token.tokens, tools);
      parent.append(wrap);
      break;
    }
    case "codespan":
      parent.append(element("code", "", decoded(token.text)));
      break;
    case "br":
      parent.append(element("br", ""));
      break;
    case "link":
    case "image":
      addLink(parent, token, tools);
      break;
    case "formula":
      parent.append(formulaNode(token, tools));
      break;
    case "text":
      if (token.tokens) addSpans(parent, token.tokens, tools);
      else parent.append(decoded(token.text));
      break;
    case "escape":
      parent.append(decoded(token.text));
      break;
    default:
      parent.append(token.raw);
  }
}

// Returns a box with a heading, a label for screen readers, and the text in `code`, which may
// change. Its button calls `tools.copy(text, button)`.
export function codeBox(title, label, text, tools) {
  const box = element("div", "code");
  const head = element("div", "code-head");
  const code = element("code", "", text);
  const button = element("button", "", "Copy");
  button.type = "button";
  button.addEventListener("click", () => tools.copy(code.textContent, button));
  head.append(element("span", "", title), button);
  const pre = element("pre", "");
  pre.tabIndex = 0;
  pre.setAttribute("role", "region");
  pre.setAttribute("aria-label", label);
  pre.append(code);
  box.append(head, pre);
  return box;
}

function codeNode(token, tools) {
  const language = token.lang ?? "";
  const box = codeBox(language || "code", language ? `Code: ${language}` : "Code",
                      withTabs(token.text), tools);
  tint(box, token, tools);
  return box;
}

// Colours code once its block is complete.
function tint(box, token, tools) {
  if (!token.lang || token.closed === false) return;
  const code = box.querySelector("code");
  tools.setter.tint(token.lang, code.textContent, (pieces) => {
    if (pieces.map(([text]) => text).join("") !== code.textContent) return;
    code.replaceChildren(...pieces.map(([text, name]) => {
      return name ? element("span", `hl-${name}`, text) : text;
    }));
  });
}

function listNode(token, tools) {
  const list = element(token.ordered ? "ol" : "ul", "");
  if (token.ordered) list.start = token.start;
  return fill(list, itemsOf(token), tools);
}

// Returns a list's items; all items of a loose list are made loose, whether or not they contain a
// blank line.
function itemsOf(list) {
  for (const item of list.items) item.loose = list.loose;
  return list.items;
}

function itemNode(token, tools) {
  const item = element("li", token.task ? "task" : "");
  if (token.task) {
    const mark = element("span", "box", token.checked ? "☑" : "☐");
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", token.checked ? "Done:" : "To do:");
    item.append(mark, " ");
  }
  for (const block of token.tokens) {
    if (block.type === "text") {
      const place = token.loose ? element("p", "") : item;
      if (!token.loose && item.lastChild?.nodeType === Node.TEXT_NODE && !token.task) {
        item.append("\n");
      }
      addSpan(place, block, tools);
      if (place !== item) item.append(place);
    } else if (block.type !== "space") {
      item.append(blockNode(block, tools));
    }
  }
  return item;
}

function cellNode(name, cell, align, tools) {
  const node = element(name, align ?? "");
  if (name === "th") node.scope = "col";
  addSpans(node, cell.tokens, tools);
  return node;
}

function rowNode(token, tools) {
  const row = element("tr", "");
  row.append(...token.cells.map((cell, i) => cellNode(token.name, cell, token.align[i], tools)));
  return row;
}

function asRow(cells, align, name) {
  return {type: "row", raw: cells.map(({text}) => text).join("|"), cells, align, name};
}

function tableNode(token, tools) {
  const box = element("div", "table");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Table");
  const table = element("table", "");
  const head = element("thead", "");
  const body = element("tbody", "");
  head.append(rowNode(asRow(token.header, token.align, "th"), tools));
  token.lines = token.rows.map((row) => asRow(row, token.align, "td"));
  fill(body, token.lines, tools);
  table.append(head, body);
  box.append(table);
  return box;
}

function paragraphNode(name, className, tokens, tools) {
  const node = element(name, className);
  addSpans(node, tokens, tools);
  return node;
}

// Returns a new node for a block.
function blockNode(token, tools) {
  switch (token.type) {
    case "code": return codeNode(token, tools);
    case "heading": return paragraphNode("h3", `depth-${token.depth}`, token.tokens, tools);
    case "hr": return element("hr", "");
    case "list": return listNode(token, tools);
    case "list_item": return itemNode(token, tools);
    case "row": return rowNode(token, tools);
    case "table": return tableNode(token, tools);
    case "blockquote": return fill(element("blockquote", ""), shown(token.tokens), tools);
    case "formula": return paragraphNode("p", "", [token], tools);
    case "paragraph":
    case "text": return paragraphNode("p", "", token.tokens ?? [{...token, tokens: null}], tools);
    default: return element("p", "", (token.text ?? token.raw).replace(/\n+$/, ""));
  }
}

export function shown(tokens) {
  return tokens.filter(({type}) => type !== "space" && type !== "def");
}

function fill(parent, tokens, tools) {
  for (const token of tokens) {
    token.node = blockNode(token, tools);
    parent.append(token.node);
  }
  return parent;
}

// Updates the children of `parent` from index `from` on, which show the tokens `old`, to show
// `tokens`. Unchanged tokens keep their nodes, and those that grew at their end have their nodes
// extended.
export function patch(parent, old, tokens, tools, from = 0) {
  for (let i = from; i < tokens.length; ++i) {
    const before = old[i];
    const token = tokens[i];
    if (before && same(before, token)) {
      tokens[i] = before;
      before.end = token.end;
    } else if (before && grow(before, token, tools)) {
      token.node = before.node;
    } else {
      token.node = blockNode(token, tools);
      if (before) before.node.replaceWith(token.node);
      else parent.append(token.node);
    }
  }
  for (const gone of old.slice(Math.max(from, tokens.length))) gone.node.remove();
}

function same(a, b) {
  return a.type === b.type && a.raw === b.raw && a.closed === b.closed && a.loose === b.loose;
}

// Extends the node of `before` to show `token`; false where a new node must be made.
function grow(before, token, tools) {
  if (before.type !== token.type) return false;
  switch (token.type) {
    case "code": return growCode(before, token, tools);
    case "list":
      if (before.ordered !== token.ordered || before.start !== token.start) return false;
      patch(before.node, before.items, itemsOf(token), tools);
      return true;
    case "blockquote":
      token.tokens = shown(token.tokens);
      patch(before.node, shown(before.tokens), token.tokens, tools);
      return true;
    case "table": {
      const lines = (table) => asRow(table.header, table.align, "th").raw + table.align;
      if (lines(before) !== lines(token)) return false;
      token.lines = token.rows.map((row) => asRow(row, token.align, "td"));
      patch(before.node.querySelector("tbody"), before.lines, token.lines, tools);
      return true;
    }
    default: return false;
  }
}

function growCode(before, token, tools) {
  const code = before.node.querySelector("code");
  const text = code.firstChild;
  if (before.lang !== token.lang || code.childNodes.length > 1) return false;
  if (!token.text.startsWith(before.text)) return false;
  const grown = withTabs(token.text);
  if (text) text.appendData(grown.slice(text.length));
  else if (grown) code.append(grown);
  tint(before.node, token, tools);
  return true;
}
