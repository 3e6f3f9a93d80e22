// Makes MathML nodes of KaTeX's tree of a formula (setter_worker.js). Only elements and attributes
// of the lists below get into the document; none of them can load, link or run anything.

const SPACE = "http://www.w3.org/1998/Math/MathML";

const ELEMENTS = new Set(`math semantics mrow mi mn mo ms mtext mspace mfrac msqrt mroot
  mstyle msub msup msubsup munder mover munderover mtable mtr mtd mpadded mphantom menclose
  merror`.split(/\s+/));

const ATTRIBUTES = new Set(`display displaystyle scriptlevel mathvariant mathsize mathcolor
  mathbackground stretchy fence separator form lspace rspace minsize maxsize symmetric largeop
  movablelimits accent accentunder linethickness columnalign columnspacing columnlines rowspacing
  rowlines rowalign width height depth voffset notation side frame`.split(/\s+/));

// Returns the node of a tree: a text, or [name, {attribute: value}, children].
function build(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [name, attributes, children] = tree;
  if (!ELEMENTS.has(name)) return document.createTextNode("");
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(key)) node.setAttribute(key, value);
  }
  node.append(...children.map(build));
  return node;
}

// Returns a node that shows a formula's source, and then its maths once the worker has set it.
export function formulaNode({raw, text, display, open}, {setter}) {
  const node = document.createElement("span");
  node.className = display ? "formula display" : "formula";
  node.textContent = raw.replace(/\n+$/, "");
  if (open) return node;
  setter.formula(text, Boolean(display), (tree) => node.replaceChildren(build(tree)));
  return node;
}
