// Checks JSON values against the types of npm packages with TypeScript's own compiler. Each value
// is written as `const v: T = VALUE;` in a file of strict TypeScript, and the compiler's messages
// are parsed.
//
// The compiler reports one departure of an object at a time. So an extra member is removed, a
// missing or wrong one is replaced by one that fits any type, and the rest is checked again.

import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import ts from "typescript";

const file = join(dirname(fileURLToPath(import.meta.url)), "values.ts");
const options = {
  strict: true, noEmit: true, skipLibCheck: true, types: [],
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.asynciterable.d.ts"],
};
// A placeholder in a value for something that fits any type.
const absent = "\u0000absent";
const mostRounds = 40;

function source(head, values) {
  const types = [...new Set(values.map(({type}) => type))];
  // A type that is `any`, since a declaration was not found, would accept every value.
  const known = types.map((type, i) =>
    `const known${i}: 0 extends (1 & (${type})) ? "any" : "known" = "known";`);
  const consts = values.map(({type, value}, i) => {
    const text = JSON.stringify(value).replaceAll(JSON.stringify(absent), "(null as never)");
    return `const v${i}: ${type} = ${text};`;
  });
  return [...head, ...known, ...consts, ""].join("\n");
}

class Compiler {
  constructor() {
    this.host = ts.createCompilerHost(options);
    this.read = new Map();   // the files of packages, which do not change
    const {getSourceFile} = this.host;
    this.host.getSourceFile = (name, ...more) => {
      if (name === file) return ts.createSourceFile(name, this.text, options.target, true);
      if (!this.read.has(name)) this.read.set(name, getSourceFile.call(this.host, name, ...more));
      return this.read.get(name);
    };
    const {fileExists} = this.host;
    this.host.fileExists = (name) => name === file || fileExists.call(this.host, name);
  }

  // Compiles the text; returns the source's tree and the diagnostics.
  compile(text) {
    this.text = text;
    this.program = ts.createProgram({rootNames: [file], options, host: this.host,
                                     oldProgram: this.program});
    const tree = this.program.getSourceFile(file);
    return {tree, diagnostics: [...this.program.getOptionsDiagnostics(),
                                ...this.program.getSyntacticDiagnostics(tree),
                                ...this.program.getSemanticDiagnostics(tree)]};
  }
}

// Returns the innermost node that begins at the position.
function nodeAt(tree, position) {
  let found = tree;
  const visit = (node) => {
    if (node.getStart(tree) > position || node.end <= position) return;
    found = node;
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(tree, visit);
  return found;
}

// Returns the index of the value that a node belongs to, and the path to it from the value's root.
function placeOf(node) {
  const path = [];
  let at = node;
  while (!ts.isVariableDeclaration(at)) {
    const {parent} = at;
    if (!parent) return undefined;
    if (ts.isPropertyAssignment(parent)) path.unshift(parent.name.text);
    if (ts.isArrayLiteralExpression(parent)) path.unshift(parent.elements.indexOf(at));
    at = ts.isPropertyAssignment(parent) ? parent.parent : parent;
  }
  const name = at.name.text.match(/^v(\d+)$/);
  return name && {index: Number(name[1]), path};
}

// Returns the last message of a chain, which is the most specific.
function lastOf(message) {
  if (typeof message === "string") return message;
  return message.next?.length ? lastOf(message.next[0]) : message.messageText;
}

const extraMember = /known properties, (?:and|but) '"?(.+?)"?' does not exist in type '(.+?)'/;
const oneMissing = /^Property '(.+?)' is missing in type .* but required in type '(.+?)'\.$/s;
const someMissing =
    /missing the following properties from type '(.+?)': (.+?)(?:, and \d+ more\.)?$/s;

// Parses a diagnostic: the missing or extra members, and their type.
function read(diagnostic) {
  const text = lastOf(diagnostic.messageText);
  const extra = text.match(extraMember);
  if (extra) return {kind: "extra", names: [extra[1]], of: extra[2]};
  const one = text.match(oneMissing);
  if (one) return {kind: "missing", names: [one[1]], of: one[2]};
  const some = text.match(someMissing);
  return some ? {kind: "missing", names: some[2].split(", "), of: some[1]} : {};
}

// Corrects a value where a diagnostic points, and returns the names of the departures; nothing if
// it points to the value as a whole.
function mend({index, path}, values, {kind, names, of}, message) {
  const root = values[index];
  let [owner, last] = [root, "value"];
  for (const step of path) [owner, last] = [owner[last], step];
  if (kind === "missing" && typeof owner[last] === "object") {
    for (const name of names) owner[last][name] = absent;
  } else if (kind === "extra" && names[0] === last) {
    delete owner[last];
  } else if (path.length > 0) {
    owner[last] = absent;
    const steps = path.map((step) => typeof step === "number" ? "[]" : `.${step}`).join("");
    return [`${root.type}${steps}: ${message}`];
  } else {
    return undefined;
  }
  const [, space] = root.type.match(/(\w+)\.\w/);
  return names.map((name) => `${space}: ${kind} ${of}.${name}`);
}

// Checks {type, value, from}. `from` says where the value came from, and `head` has the lines that
// declare the types. Returns the departures with the first place of each, under the names
// "NAMESPACE: extra TYPE.MEMBER", "NAMESPACE: missing TYPE.MEMBER", or "TYPE.MEMBER.MEMBER: MESSAGE
// OF THE COMPILER".
export function check(head, given) {
  const compiler = new Compiler();
  const found = new Map();
  let values = structuredClone(given);
  for (let round = 0; values.length > 0; ++round) {
    const {tree, diagnostics} = compiler.compile(source(head, values));
    const again = new Set();
    for (const diagnostic of diagnostics) {
      const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
      const place = diagnostic.file && placeOf(nodeAt(tree, diagnostic.start));
      if (!place) throw new Error(message);
      const text = JSON.stringify(values[place.index].value).slice(0, 1500);
      const where = `${values[place.index].from}: ${text}`;
      const names = mend(place, values, read(diagnostic), message);
      if (!names || round === mostRounds) throw new Error(`${message}\n${where}`);
      for (const name of names) if (!found.has(name)) found.set(name, where);
      again.add(place.index);
    }
    values = values.filter((_, i) => again.has(i));
  }
  return found;
}
