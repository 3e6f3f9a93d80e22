// The worker of setter.js: takes code and returns coloured pieces, or takes a formula and returns a
// tree; null where there is nothing to set. highlight.js's HTML is parsed back to pieces, and
// KaTeX's own tree is used, so that no HTML leaves this worker.

/* global hljs, katex */

const LOADED = new Set();

function load(name) {
  if (LOADED.has(name)) return;
  importScripts(`/page/${name}`);
  LOADED.add(name);
}

const ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">"};

// Parses what highlight.js 9 writes (it has no tree): texts, in which & < > are entities, and
// spans.
function piecesOf(marked) {
  const pieces = [];
  const names = [];
  for (const [part] of marked.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (part === "</span>") {
      names.pop();
    } else if (part[0] === "<") {
      names.push(part.slice('<span class="hljs-'.length, -2));
    } else {
      const name = names.findLast((one) => /^[a-z_-]+$/.test(one)) ?? "";
      pieces.push([part.replace(/&(amp|lt|gt);/g, (entity) => ENTITIES[entity]), name]);
    }
  }
  return pieces;
}

function tint({language, text}) {
  load("highlight.js");
  hljs.configure({hideUpgradeWarningAcceptNoSupportOrSecurityUpdates: true});
  if (!hljs.getLanguage(language)) return null;
  return piecesOf(hljs.highlight(language, text, true).value);
}

// Returns the trees of a KaTeX node: an element with attributes, text, space, or a fragment of
// others. The annotation, a copy of the source, is dropped.
function treesOf(node) {
  if (node.type === "annotation") return [];
  if (typeof node.type === "string") {
    return [[node.type, {...node.attributes}, node.children.flatMap(treesOf)]];
  }
  if (typeof node.text === "string") return [node.text];
  if (typeof node.width === "number") {
    return node.character ? [node.character] : [["mspace", {width: `${node.width}em`}, []]];
  }
  return (node.children ?? []).flatMap(treesOf);
}

function formula({text, display}) {
  load("katex.js");
  const made = katex.__renderToDomTree(text, {
    displayMode: display, output: "mathml", throwOnError: true, trust: false, strict: "ignore",
    maxExpand: 1000, maxSize: 50,
  });
  return treesOf(made)[0] ?? null;
}

onmessage = ({data}) => {
  let result = null;
  try {
    result = data.kind === "tint" ? tint(data) : formula(data);
  } catch {
    // A formula that KaTeX cannot set stays as its source.
  }
  postMessage(result);
};
