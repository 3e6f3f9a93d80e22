// A conversation: a tree of turns, of which one path is shown. A changed message and another answer
// are branches: turns with the same parent.
//
//   record: {id, title, named, created, changed, leaf, model, settings: {system, temperature, ...}}
//   turn:   {id, chat, parent, created, role: "user" | "model", text}, for a user also
//           {files: [{name, text}]}, for the model {reasoning, calls: [{index, name, arguments}],
//           note, trouble: {message, detail, remedy}, figures (figures.js), model, unfinished: when
//           it was last stored while it came}

const MOST_TITLE = 60;

// Returns a random id. Browsers have crypto.randomUUID() only on secure connections.
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(12))]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function titleOf(turn) {
  const names = (turn.files ?? []).map(({name}) => name).join(", ");
  const line = turn.text.trim().split("\n")[0] || names;
  return line.length > MOST_TITLE ? `${line.slice(0, MOST_TITLE - 1).trimEnd()}…` : line;
}

export class Chat {
  static begin(settings = {}, model = "") {
    const now = Date.now();
    return new Chat({id: newId(), title: "", named: false, created: now, changed: now, leaf: null,
                     model, settings}, []);
  }

  constructor(record, turns) {
    this.record = record;
    this.turns = new Map(turns.map((turn) => [turn.id, turn]));
    this.answer = null;   // the AbortController of the answer under way
    this.gone = false;    // it was deleted: what still comes is not stored
  }

  get id() {
    return this.record.id;
  }

  // Returns the turns from the root to the leaf. A missing parent or a cycle ends the path.
  path() {
    const path = [];
    const seen = new Set();
    let turn = this.turns.get(this.record.leaf);
    if (!turn && this.turns.size > 0) turn = this.latest();
    while (turn && !seen.has(turn.id)) {
      seen.add(turn.id);
      path.push(turn);
      turn = this.turns.get(turn.parent);
    }
    return path.reverse();
  }

  latest() {
    return [...this.turns.values()].reduce((a, b) => (b.created >= a.created ? b : a));
  }

  branches(turn) {
    return [...this.turns.values()].filter(({parent}) => parent === turn.parent)
        .sort((a, b) => a.created - b.created);
  }

  // Shows the branch that this turn is on, down to the leaf that was last shown there.
  choose(turn) {
    let leaf = turn;
    for (;;) {
      const next = [...this.turns.values()].filter(({parent}) => parent === leaf.id);
      if (next.length === 0) break;
      leaf = next.reduce((a, b) => (b.created >= a.created ? b : a));
    }
    this.record.leaf = leaf.id;
  }

  // Adds a turn as a child of `parent` (null: as a root), and shows it.
  add(turn, parent) {
    const last = this.turns.size > 0 ? this.latest().created : 0;
    Object.assign(turn, {id: newId(), chat: this.id, parent: parent?.id ?? null,
                         created: Math.max(Date.now(), last + 1)});
    this.turns.set(turn.id, turn);
    this.record.leaf = turn.id;
    this.record.changed = turn.created;
    if (!this.record.title && turn.role === "user") this.record.title = titleOf(turn);
    return turn;
  }

  // Takes over a turn that another tab has stored, and shows it if its parent is the leaf shown
  // here.
  take(turn) {
    const known = this.turns.get(turn.id);
    if (known) become(known, turn);
    else this.turns.set(turn.id, turn);
    if (!known && turn.parent === this.record.leaf && !this.answer) this.record.leaf = turn.id;
  }
}

function become(known, turn) {
  for (const name of Object.keys(known)) if (!Object.hasOwn(turn, name)) delete known[name];
  Object.assign(known, turn);
}

// Returns a text file as the model reads it: in a fence of backticks under its name.
function fenced({name, text}) {
  const fences = text.match(/`{3,}/g) ?? [];
  const longest = fences.reduce((most, {length}) => Math.max(most, length), 2);
  const fence = "`".repeat(longest + 1);
  return `${name}:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

export function contentOf(turn) {
  const files = (turn.files ?? []).map(fenced);
  return [...files, turn.text].filter(Boolean).join("\n\n");
}

// Returns a path as messages for the server. Turns without text are left out, and two consecutive
// ones of one role are joined, since many templates require the roles to alternate. Reasoning is
// sent with its answer; calls are not, since they have no results.
export function messagesOf(path, system) {
  const list = [];
  if (system) list.push({role: "system", content: system});
  for (const turn of path) {
    const role = turn.role === "user" ? "user" : "assistant";
    const content = contentOf(turn);
    let message = list[list.length - 1];
    if (!content) continue;
    if (message && message.role === role) message.content += `\n\n${content}`;
    else list.push(message = {role, content});
    if (turn.reasoning) {
      const before = message.reasoning_content;
      message.reasoning_content = before ? `${before}\n\n${turn.reasoning}` : turn.reasoning;
    }
  }
  return list;
}

// These check records and turns that another version of the page or a file may have written.
// Members of another form are left out; null is returned where nothing is left.

const text = (value) => (typeof value === "string" ? value : undefined);
const moment = (value) => (Number.isFinite(value) ? value : Date.now());
const isCall = (call) => typeof call?.name === "string" && typeof call.arguments === "string";
const isFile = (file) => typeof file?.name === "string" && typeof file.text === "string";

function figuresOf(figures) {
  const measured = Object.entries(figures ?? {});
  const good = measured.length > 0 && measured.every(([name, value]) => {
    return (name === "exact") === (typeof value !== "number");
  });
  return good ? figures : undefined;
}

export function asTurn(from) {
  if (from === null || typeof from !== "object" || typeof from.text !== "string") return null;
  if (from.role !== "user" && from.role !== "model") return null;
  const turn = {
    id: text(from.id), chat: text(from.chat), parent: text(from.parent) ?? null,
    created: moment(from.created), role: from.role, text: from.text,
    reasoning: text(from.reasoning), note: text(from.note), model: text(from.model),
    calls: Array.isArray(from.calls) ? from.calls.filter(isCall) : undefined,
    files: Array.isArray(from.files) ? from.files.filter(isFile) : undefined,
    trouble: typeof from.trouble?.message === "string" ? from.trouble : undefined,
    figures: figuresOf(from.figures),
    unfinished: Number.isFinite(from.unfinished) ? from.unfinished : undefined,
  };
  for (const [name, value] of Object.entries(turn)) if (value === undefined) delete turn[name];
  return turn;
}

export function asRecord(from) {
  if (from === null || typeof from !== "object" || typeof from.id !== "string") return null;
  const settings = {};
  for (const [name, value] of Object.entries(from.settings ?? {})) {
    if (typeof value === "string") settings[name] = value;
  }
  return {id: from.id, title: text(from.title) ?? "", named: from.named === true,
          created: moment(from.created), changed: moment(from.changed),
          leaf: text(from.leaf) ?? null, model: text(from.model) ?? "", settings};
}
