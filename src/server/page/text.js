// Model text as a tree of nodes. Nothing here reads text as HTML: every character of it ends up in
// a text node or is dropped as a mark. Understood are fenced code, headings, lists, paragraphs,
// `code`, **strong** and *emphasis*; links stay text, since a model may be made to write any.

// A block: {kind: "code" | "heading" | "list" | "paragraph", text, ...}, made of whole lines. Text
// added at the end changes the last block alone, so that a stream repaints no other.
export function splitBlocks(text) {
  const blocks = [];
  let open = null;
  for (const line of text.split("\n")) {
    open = takeLine(line, open, blocks);
  }
  return blocks;
}

function takeLine(line, open, blocks) {
  if (open && open.kind === "code") {
    if (isClosingFence(line, open.fence)) {
      open.closed = true;
      return null;
    }
    open.text += (open.lines++ ? "\n" : "") + line;
    return open;
  }
  if (line.trim() === "") return null;
  const block = beginBlock(line);
  if (open && open.kind === block.kind && canGrow(open, block)) {
    open.text += "\n" + block.text;
    return open;
  }
  if (open && open.kind === "list" && block.kind === "paragraph" && /^\s/.test(line)) {
    open.text += " " + line.trim();
    return open;
  }
  blocks.push(block);
  return block.kind === "heading" ? null : block;
}

function beginBlock(line) {
  const fence = line.match(/^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/);
  if (fence) return {kind: "code", fence: fence[1], language: fence[2], text: "", lines: 0};
  const heading = line.match(/^ {0,3}#{1,6}\s+(.*)$/);
  if (heading) return {kind: "heading", text: heading[1]};
  const item = line.match(/^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/);
  if (item) {
    return {kind: "list", ordered: item[1] !== undefined, start: Number(item[1]), text: item[2]};
  }
  return {kind: "paragraph", text: line};
}

function canGrow(open, block) {
  return open.kind === "paragraph" || (open.kind === "list" && open.ordered === block.ordered);
}

function isClosingFence(line, fence) {
  const mark = line.trim();
  return mark.length >= fence.length && mark[0] === fence[0] && /^(`+|~+)$/.test(mark);
}

// The marks of spans. Each is at most 999 characters long, so that a text full of lone marks is
// still read quickly.
const SPAN = new RegExp([
  /(`+)([^`]|[^`].{0,999}?[^`])\1(?!`)/,        // `code`, ``code``
  /\*\*(?=\S)(.{1,999}?)(?<=\S)\*\*/,           // **strong**
  /\*(?=[^\s*])([^*\n]{1,999}?)(?<=\S)\*/,      // *emphasis*
].map((part) => part.source).join("|"), "s");

// Appends a line of text with its marks; at most four deep.
function addSpans(parent, text, depth = 0) {
  let rest = text;
  for (;;) {
    const match = depth < 4 ? rest.match(SPAN) : null;
    if (!match) break;
    if (match.index > 0) parent.append(rest.slice(0, match.index));
    if (match[1]) {
      parent.append(element("code", "", match[2]));
    } else {
      const span = element(match[3] ? "strong" : "em", "");
      addSpans(span, match[3] || match[4], depth + 1);
      parent.append(span);
    }
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest) parent.append(rest);
}

export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// `copy(text)` is called for the button of a code block; null where nothing can be copied.
function paintBlock(block, copy) {
  if (block.kind === "code") {
    const {language} = block;
    return codeBox(language || "code", language ? `Code: ${language}` : "Code", block.text, copy);
  }
  if (block.kind === "list") {
    const list = element(block.ordered ? "ol" : "ul", "");
    if (block.ordered) list.start = block.start;
    for (const line of block.text.split("\n")) {
      const item = element("li", "");
      addSpans(item, line);
      list.append(item);
    }
    return list;
  }
  const made = element(block.kind === "heading" ? "h3" : "p", "");
  addSpans(made, block.text);
  return made;
}

// A box with a head and what it is for a screen reader; its `code` has the text, which may change.
export function codeBox(title, label, text, copy) {
  const box = element("div", "code");
  const head = element("div", "code-head");
  const code = element("code", "", text);
  head.append(element("span", "", title));
  if (copy) {
    const button = element("button", "", "Copy");
    button.type = "button";
    button.addEventListener("click", () => copy(code.textContent, button));
    head.append(button);
  }
  const pre = element("pre", "");
  pre.tabIndex = 0;
  pre.setAttribute("role", "region");
  pre.setAttribute("aria-label", label);
  pre.append(code);
  box.append(head, pre);
  return box;
}

// Shows texts that grow: what did not change since the last call keeps its nodes.
export class Painter {
  constructor(parent, copy) {
    this.parent = parent;
    this.copy = copy;
    this.painted = [];
  }

  show(text) {
    const blocks = splitBlocks(text);
    blocks.forEach((block, index) => {
      const same = JSON.stringify(block);
      if (this.painted[index] === same) return;
      const node = paintBlock(block, this.copy);
      const old = this.parent.children[index];
      if (old) old.replaceWith(node);
      else this.parent.append(node);
      this.painted[index] = same;
    });
    while (this.parent.children.length > blocks.length) this.parent.lastElementChild.remove();
    this.painted.length = blocks.length;
  }
}
