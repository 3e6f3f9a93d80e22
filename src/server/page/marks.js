// Parses a model's text to a tree of tokens: marked's, and further blocks for code and display
// maths, which stand alone in their lines and may be long. Nothing here makes HTML.
//
// A block is a token {type, raw, end}: `end` is its end in the text, -1 where that is not known.
// Parts that would take more than linear time stay unparsed, in tokens of type "plain": very long
// lines and paragraphs, and deep nesting.

import "./marked.js";

const {marked} = globalThis;

export const LIMITS = {
  text: 2_000_000,    // characters; a longer text is one plain block
  line: 10_000,       // characters of a line outside of code
  paragraph: 20_000,  // characters of a paragraph whose spans are parsed
  emphasis: 500,      // marks of emphasis in a paragraph, each compared with all others
  depth: 24,          // quotes and lists in each other, and spans in each other
  formula: 4_000,
};

// The character in place of a tab in fenced code, where marked would make spaces of a tab. It is a
// Unicode noncharacter.
const TAB = "\ufdd0";
const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*)/;
const ANY_FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})/;

export function withTabs(code) {
  return code.replaceAll(TAB, "\t");
}

// Returns the blocks of a text, and whether it defines addresses for links by name.
export function cutBlocks(text) {
  if (text.length > LIMITS.text) return {blocks: [plainBlock(text, text.length)], defines: false};
  const lexer = new Lexer();
  const blocks = [];
  let from = 0;
  let at = 0;
  const flush = () => {
    if (at > from) blocks.push(...lexer.cut(text.slice(from, at), from));
  };
  while (at < text.length) {
    const block = takeBlock(text, at);
    if (block) {
      flush();
      blocks.push(block);
      from = block.end;
    }
    at = block ? block.end : lineEnd(text, at);
  }
  flush();
  lexer.leaveSpans();
  return {blocks, defines: Object.keys(lexer.tokens.links).length > 0};
}

// Returns the spans (inline tokens) of a block's text.
export function spansOf(tokens) {
  const {read} = tokens;
  delete tokens.read;
  read?.();
  return tokens;
}

// Returns the position after the line's newline.
function lineEnd(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

function plainBlock(raw, end) {
  return {type: "plain", raw, text: raw.replace(/\n$/, ""), end};
}

// Returns the block that begins with the line at `at` if it is one that marked does not parse, else
// null.
function takeBlock(text, at) {
  const end = lineEnd(text, at);
  if (end - at > LIMITS.line) return plainBlock(text.slice(at, end), end);
  const first = text[at];
  if (first === "`" || first === "~") return takeFence(text, at, end);
  if (text.startsWith("$$", at)) return takeFormula(text, at, "$$", "$$");
  if (text.startsWith("\\[", at)) return takeFormula(text, at, "\\[", "\\]");
  return null;
}

function takeFence(text, at, begin) {
  const fence = FENCE.exec(text.slice(at, begin).trimEnd());
  if (!fence) return null;
  const closing = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}[ \\t]*$`);
  let from = begin;
  while (from < text.length) {
    const end = lineEnd(text, from);
    if (closing.test(text.slice(from, end).replace(/\r?\n$/, ""))) {
      return codeBlock(text, at, begin, from, end, fence[2], true);
    }
    from = end;
  }
  return codeBlock(text, at, begin, text.length, text.length, fence[2], false);
}

function codeBlock(text, at, begin, stop, end, language, closed) {
  const code = text.slice(begin, Math.max(begin, stop)).replace(/\r?\n$/, "");
  return {type: "code", raw: text.slice(at, end), lang: language, text: code, closed, end};
}

// Returns a block of display maths that begins a line and has no empty line in it; `open`: its end
// has not come yet.
function takeFormula(text, at, opening, closing) {
  const begin = at + opening.length;
  const stop = text.indexOf(closing, begin);
  const empty = text.slice(begin, begin + LIMITS.formula).search(/\n[ \t]*\n/);
  const limit = empty < 0 ? begin + LIMITS.formula : begin + empty;
  if (stop < 0 || stop > limit) {
    if (limit < text.length) return null;
    return {type: "formula", raw: text.slice(at), text: text.slice(at), open: true,
            end: text.length};
  }
  const end = lineEnd(text, stop);
  const formula = text.slice(begin, stop).trim();
  const alone = text.slice(stop + closing.length, end).trim() === "" && formula !== "";
  return alone ? {type: "formula", raw: text.slice(at, end), text: formula, display: true, end}
               : null;
}

// Formulas within a line: $x$, $$x$$, \(x\), \[x\]. A single $ is a price.
const FORMULAS = [
  [/^\$\$((?:[^$\\]|\\[^]){1,4000}?)\$\$/, true],
  [/^\$(?=[^\s$])((?:[^$\\\n]|\\[^\n]){1,1000}?)(?<=\S)\$(?![\d$])/, false],
  [/^\\\(((?:[^\\]|\\[^)]){1,4000}?)\\\)/, false],
  [/^\\\[((?:[^\\]|\\[^\]]){1,4000}?)\\\]/, true],
];

const formulas = {
  name: "formula",
  level: "inline",
  start: (src) => {
    const at = src.search(/\$|\\[([]/);
    return at < 0 ? undefined : at;
  },
  tokenizer(src) {
    if (src[0] !== "$" && src[0] !== "\\") return undefined;
    for (const [form, display] of FORMULAS) {
      const match = form.exec(src);
      if (match) return {type: "formula", raw: match[0], text: match[1].trim(), display};
    }
    return undefined;
  },
};

// Marked's tokenizer with a limit on depth: marks nested deeper are text.
class Tokenizer extends marked.Tokenizer {
  depth = 0;

  blockquote(src) {
    return this.nested(() => super.blockquote(src));
  }

  list(src) {
    return this.nested(() => super.list(src));
  }

  nested(take) {
    if (this.depth >= LIMITS.depth) return undefined;
    ++this.depth;
    const {top} = this.lexer.state;
    try {
      return take();
    } finally {
      --this.depth;
      // Marked reads lines in a list as text, and takes the end of a quote there for the end of the
      // list.
      this.lexer.state.top = this.depth === 0 || top;
    }
  }
}

const OPTIONS = {
  ...marked.getDefaults(),
  mangle: false,
  extensions: {
    inline: [formulas.tokenizer], startInline: [formulas.start], renderers: {}, childTokens: {},
  },
};

class Lexer extends marked.Lexer {
  constructor() {
    super({...OPTIONS, tokenizer: new Tokenizer()});
    this.spans = 0;
  }

  // Returns the blocks of the part of the text from `from` on, with their spans still unparsed.
  cut(text, from) {
    const waiting = this.inlineQueue.length;
    let tokens;
    try {
      tokens = this.blockTokens(prepare(text), []);
    } catch {
      this.inlineQueue.length = waiting;
      return [plainBlock(text, from + text.length)];
    }
    const exact = tokens.map(({raw}) => raw).join("") === text;
    let end = from;
    for (const token of tokens) {
      end += token.raw.length;
      token.end = exact ? end : -1;
    }
    if (tokens.length > 0) tokens.at(-1).end = from + text.length;
    return tokens;
  }

  // Leaves spans to spansOf(), which parses them when a node is made: most blocks of a growing text
  // have their nodes already.
  leaveSpans() {
    for (const {src, tokens} of this.inlineQueue.splice(0)) {
      tokens.read = () => {
        this.state.inLink = false;
        this.spans = 0;
        this.inlineTokens(src, tokens);
      };
    }
  }

  inlineTokens(src, tokens = []) {
    const before = tokens.length;
    const short = src.length <= LIMITS.paragraph &&
        (src.match(/\*+|_+/g) ?? []).length <= LIMITS.emphasis;
    if (short && this.spans < LIMITS.depth) {
      ++this.spans;
      try {
        return super.inlineTokens(src, tokens);
      } catch {
        tokens.length = before;
      } finally {
        --this.spans;
      }
    }
    tokens.push({type: "plain", raw: src, text: src});
    return tokens;
  }
}

// Returns the text with line ends and tabs as marked needs them.
function prepare(text) {
  if (!text.includes("\t") && !text.includes("\r")) return text;
  let fence = "";
  return text.replaceAll("\r\n", "\n").split("\n").map((line) => {
    const mark = ANY_FENCE.exec(line)?.[1];
    const inside = fence !== "";
    if (mark && !inside) fence = mark;
    else if (inside && line.trim().startsWith(fence) && /^(`+|~+)$/.test(line.trim())) fence = "";
    return inside ? line.replaceAll("\t", TAB) : line;
  }).join("\n");
}
