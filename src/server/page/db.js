// Stores conversations in IndexedDB or, where the browser does not allow that, in this tab's
// memory. Both stores have the same methods; each save is all or nothing.
//
// VERSION is the version of the stored form. An upgrade adds to stored data and deletes nothing.
// Data that a newer page has stored is left as it is, and then this page stores nothing.

const NAME = "hearth";
const VERSION = 1;

// kind: "full" (no space), "newer" (stored by a newer page) or "none" (no storage)
export class StoreTrouble extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function upgrade(database, from) {
  if (from < 1) {
    database.createObjectStore("chats", {keyPath: "id"});
    database.createObjectStore("turns", {keyPath: "id"}).createIndex("chat", "chat");
    database.createObjectStore("notes");
  }
}

function open() {
  return new Promise((resolve, reject) => {
    const request = window.indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = ({oldVersion}) => upgrade(request.result, oldVersion);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// Opens the store and returns {store, trouble}. Calls onClose() when another tab's newer page takes
// the store over.
export async function openStore(onClose) {
  try {
    const database = await open();
    database.onversionchange = () => {
      database.close();
      onClose();
    };
    return {store: new DiskStore(database), trouble: null};
  } catch (error) {
    const newer = error?.name === "VersionError";
    const trouble = newer
        ? new StoreTrouble("newer", "Your conversations were stored by a newer version of this " +
                                    "page. They stay as they are; this one keeps nothing.")
        : new StoreTrouble("none", "This browser keeps nothing for this page: conversations last " +
                                   "until the tab is closed.");
    return {store: new MemoryStore(), trouble};
  }
}

class DiskStore {
  constructor(database) {
    this.database = database;
  }

  // Runs `change` in one transaction, and resolves once that is committed.
  async write(names, change) {
    let error = null;
    try {
      const transaction = this.database.transaction(names, "readwrite");
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      try {
        change(...names.map((name) => transaction.objectStore(name)));
      } catch (thrown) {
        transaction.abort();
        error = thrown;
      }
      await done;
    } catch (thrown) {
      error ??= thrown;
      const full = error?.name === "QuotaExceededError";
      throw new StoreTrouble(full ? "full" : "none", full
          ? "The browser has no more room for conversations: what comes now lasts until this tab " +
            "is closed. Export or delete some."
          : "The browser could not store this conversation: it lasts until this tab is closed.");
    }
  }

  read(name) {
    return this.database.transaction([name]).objectStore(name);
  }

  chats() {
    return settled(this.read("chats").getAll());
  }

  turns(chat) {
    return settled(this.read("turns").index("chat").getAll(chat));
  }

  allTurns() {
    return settled(this.read("turns").getAll());
  }

  save({chats = [], turns = []}) {
    return this.write(["chats", "turns"], (kept, said) => {
      for (const chat of chats) kept.put(chat);
      for (const turn of turns) said.put(turn);
    });
  }

  remove(chat) {
    return this.write(["chats", "turns"], (kept, said) => {
      kept.delete(chat);
      said.index("chat").getAllKeys(chat).onsuccess = ({target}) => {
        for (const key of target.result) said.delete(key);
      };
    });
  }

  removeTurn(id) {
    return this.write(["turns"], (said) => said.delete(id));
  }

  note(name) {
    return settled(this.read("notes").get(name));
  }

  setNote(name, value) {
    return this.write(["notes"], (notes) => notes.put(value, name));
  }
}

class MemoryStore {
  constructor() {
    this.kept = new Map();
    this.said = new Map();
    this.notes = new Map();
  }

  async chats() {
    return [...this.kept.values()].map((chat) => structuredClone(chat));
  }

  async allTurns() {
    return [...this.said.values()].map((turn) => structuredClone(turn));
  }

  async turns(chat) {
    return (await this.allTurns()).filter((turn) => turn.chat === chat);
  }

  async save({chats = [], turns = []}) {
    for (const chat of chats) this.kept.set(chat.id, structuredClone(chat));
    for (const turn of turns) this.said.set(turn.id, structuredClone(turn));
  }

  async remove(chat) {
    this.kept.delete(chat);
    for (const turn of await this.turns(chat)) this.said.delete(turn.id);
  }

  async removeTurn(id) {
    this.said.delete(id);
  }

  async note(name) {
    return this.notes.get(name);
  }

  async setNote(name, value) {
    this.notes.set(name, value);
  }
}
