// What outlives a reload: the conversation and the settings stay in this browser, the key only as
// long as its tab. Where the browser keeps nothing, the page works all the same.

const CHAT = "hearth.chat";
const SETTINGS = "hearth.settings";
const KEY = "hearth.key";

function read(storage, name, otherwise) {
  try {
    return JSON.parse(storage().getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(storage, name, value) {
  try {
    storage().setItem(name, JSON.stringify(value));
  } catch {
    // Storage is switched off or full: the page in front of the reader stays as it is.
  }
}

const local = () => window.localStorage;
const session = () => window.sessionStorage;

function isTurn(turn) {
  return turn !== null && typeof turn === "object" && typeof turn.text === "string" &&
      (turn.role === "user" || turn.role === "model");
}

function isCall(call) {
  return typeof call?.name === "string" && typeof call.arguments === "string";
}

// Another version of the page may have written it: what is not as this one has it is left out.
function asTurn({role, text, reasoning, calls, note, trouble, figures}) {
  const turn = {role, text};
  if (typeof reasoning === "string") turn.reasoning = reasoning;
  if (Array.isArray(calls)) turn.calls = calls.filter(isCall);
  if (typeof note === "string") turn.note = note;
  if (typeof trouble?.message === "string") turn.trouble = trouble;
  const measured = Object.entries(figures ?? {});
  if (measured.length > 0 && measured.every(([name, value]) => (name === "exact") ===
                                            (typeof value !== "number"))) {
    turn.figures = figures;
  }
  return turn;
}

export function loadTurns() {
  const turns = read(local, CHAT, []);
  return Array.isArray(turns) ? turns.filter(isTurn).map(asTurn) : [];
}

export function saveTurns(turns) {
  write(local, CHAT, turns);
}

// {system, temperature, ...}: texts as they stand in the fields.
export function loadSettings() {
  const settings = read(local, SETTINGS, {});
  return settings !== null && typeof settings === "object" ? settings : {};
}

export function saveSettings(settings) {
  write(local, SETTINGS, settings);
}

export function loadKey() {
  const key = read(session, KEY, "");
  return typeof key === "string" ? key : "";
}

export function saveKey(key) {
  write(session, KEY, key);
}
