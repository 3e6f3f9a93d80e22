// Small data that outlives a reload: the settings for new conversations, the key (as long as its
// tab lives), and what was not yet in the store (db.js) when the page was left. If the browser
// stores nothing, the page still works.

// The one conversation that older versions of the page stored here; it is read and never changed.
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
    // Storage is off or full: the page goes on without it.
    return false;
  }
}

const local = () => window.localStorage;
const session = () => window.sessionStorage;
const textOf = (value) => (typeof value === "string" ? value : "");

// Returns {system, temperature, ...}: the texts of the fields.
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

// Returns the id of the conversation that this tab shows.
export function loadOpen() {
  return textOf(read(session, OPEN, ""));
}

export function saveOpen(id) {
  write(session, OPEN, id);
}

// Returns the conversation of older pages: its turns, and its JSON as stored.
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

// Stores what a page had not saved when it was left: {chats, turns}. Each page has its own entry,
// as several tabs may be left at once.
export function stashUnsaved(page, unsaved) {
  return write(local, `${UNSAVED}.${page}`, unsaved);
}

// Returns [[name, {chats, turns}], ...]; each is to be dropped by its name once it is saved.
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
    // The stash stays, and is saved once more next time.
  }
}
