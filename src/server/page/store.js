// Small things that outlive a reload: the settings that new conversations begin with, the key as
// long as its tab, and what was on its way to the store (db.js) when the page was left. Where the
// browser keeps nothing, the page works all the same.

// A conversation as pages before the list of conversations kept it: read, and never changed.
const OLD_CHAT = "hearth.chat";
const SETTINGS = "hearth.settings";
const UNSAVED = "hearth.unsaved";
const KEY = "hearth.key";
const OPEN = "hearth.open";

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
    return true;
  } catch {
    // Storage is switched off or full: the page in front of the reader stays as it is.
    return false;
  }
}

const local = () => window.localStorage;
const session = () => window.sessionStorage;
const textOf = (value) => (typeof value === "string" ? value : "");

// {system, temperature, ...}: texts as they stand in the fields.
export function loadSettings() {
  const settings = read(local, SETTINGS, {});
  return settings !== null && typeof settings === "object" ? settings : {};
}

export function saveSettings(settings) {
  write(local, SETTINGS, settings);
}

export function loadKey() {
  return textOf(read(session, KEY, ""));
}

export function saveKey(key) {
  write(session, KEY, key);
}

// The conversation that this tab shows.
export function loadOpen() {
  return textOf(read(session, OPEN, ""));
}

export function saveOpen(id) {
  write(session, OPEN, id);
}

// The old conversation: its turns, and its text as stored.
export function oldChat() {
  let stored = null;
  try {
    stored = local().getItem(OLD_CHAT);
    const turns = JSON.parse(stored);
    return {stored, turns: Array.isArray(turns) ? turns : []};
  } catch {
    return {stored, turns: []};
  }
}

// Keeps what a page had not stored when it was left: {chats, turns}. Another tab may add to it, so
// each page has an entry of its own.
export function stashUnsaved(page, unsaved) {
  return write(local, `${UNSAVED}.${page}`, unsaved);
}

// [[name, {chats, turns}], ...]; to be dropped by name when it is stored.
export function stashes() {
  try {
    return Object.keys(local()).filter((name) => name.startsWith(`${UNSAVED}.`))
        .map((name) => [name, read(local, name, {})]);
  } catch {
    return [];
  }
}

export function dropStash(name) {
  try {
    local().removeItem(name);
  } catch {
    // It is stored once more then.
  }
}
