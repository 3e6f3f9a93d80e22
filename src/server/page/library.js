// All conversations of this browser: their records, their texts for the search, and how they are
// stored. Tabs notify each other of what they stored.

import {asRecord, asTurn, Chat, contentOf, newId} from "./chat.js";
import {dropStash, oldChat, stashes, stashUnsaved} from "./store.js";

// Milliseconds without a change after which an unfinished turn counts as cut short.
const LEFT_AFTER = 10_000;
const LEFT = "Cut short when the page was left";
const OLD_NOTE = "old chat";

export class Library {
  // on: {changed(), chat(id), removed(id), trouble(error), saved()}: events of this tab or another
  // one.
  constructor(store, on) {
    this.store = store;
    this.on = on;
    this.page = newId();
    this.records = new Map();
    this.live = new Map();      // chats with an answer under way, and the one that is shown
    this.texts = null;          // id -> turn id -> text in small letters, once it is searched
    this.reading = null;        // the promise of readTexts(), which fills it
    this.unsaved = {chats: new Map(), turns: new Map()};
    this.taken = "";            // the id of an old conversation that was taken over now
    this.channel = new BroadcastChannel("hearth");
    this.channel.onmessage = ({data}) => this.hear(data);
  }

  async load() {
    await this.takeStashes();
    await this.takeOldChat();
    for (const record of (await this.store.chats()).map(asRecord)) {
      if (record) this.records.set(record.id, record);
    }
    this.on.changed();
  }

  async takeStashes() {
    for (const [name, {chats, turns}] of stashes()) {
      const kept = {chats: listOf(chats, asRecord), turns: listOf(turns, asTurn)};
      kept.turns = kept.turns.filter((turn) => turn.id && turn.chat);
      try {
        await this.store.save(kept);
        dropStash(name);
      } catch (error) {
        this.on.trouble(error);
      }
    }
  }

  // Copies the one conversation that older versions of this page stored. The original is never
  // changed by this version: if it differs from the last copy, an older page is still in use, and
  // it is copied again.
  async takeOldChat() {
    const {stored, turns: old} = oldChat();
    const turns = listOf(old, asTurn);
    if (turns.length === 0 || await this.store.note(OLD_NOTE) === stored) return;
    const chat = Chat.begin();
    for (const turn of turns) chat.add(turn, chat.turns.get(chat.record.leaf));
    try {
      await this.store.save({chats: [chat.record], turns: [...chat.turns.values()]});
      await this.store.setNote(OLD_NOTE, stored);
      this.taken = chat.id;
    } catch (error) {
      this.on.trouble(error);
    }
  }

  // Returns the conversations, the one changed last first.
  list() {
    return [...this.records.values()].sort((a, b) => b.changed - a.changed);
  }

  async open(id) {
    const live = this.live.get(id);
    if (live) return live;
    const turns = listOf(await this.store.turns(id), asTurn);
    for (const turn of turns) {
      if (turn.unfinished && Date.now() - turn.unfinished > LEFT_AFTER) turn.note ??= LEFT;
    }
    return new Chat(this.records.get(id), turns);
  }

  // Sets the chat that is shown, which then follows changes of other tabs. Other chats are dropped
  // from memory, unless an answer is under way or they could not be stored.
  show(chat) {
    const held = new Set([...this.unsaved.turns.values()].map((turn) => turn.chat));
    for (const [id, one] of this.live) if (!one.answer && !held.has(id)) this.live.delete(id);
    this.live.set(chat.id, chat);
  }

  // Stores these turns of a chat, and its record.
  async save(chat, turns = []) {
    if (chat.gone) return;
    const record = {...chat.record};
    this.records.set(chat.id, chat.record);
    this.live.set(chat.id, chat);
    await this.put([record], turns.map((turn) => structuredClone(turn)));
  }

  async put(chats, turns) {
    for (const one of chats) {
      this.unsaved.chats.set(one.id, one);
      if (!this.records.has(one.id)) this.records.set(one.id, one);
    }
    for (const one of turns) this.unsaved.turns.set(one.id, one);
    this.noteTexts(turns);
    this.on.changed();
    await this.flush();
  }

  // Stores all that is not stored yet. If that fails, it stays in memory and is stored with the
  // next change.
  async flush() {
    const chats = [...this.unsaved.chats.values()];
    const turns = [...this.unsaved.turns.values()];
    if (chats.length + turns.length === 0) return this.on.saved();
    try {
      await this.store.save({chats, turns});
    } catch (error) {
      this.on.trouble(error);
      return;
    }
    drop(this.unsaved.chats, chats);
    drop(this.unsaved.turns, turns);
    this.on.saved();
    this.channel.postMessage({chats, turns});
  }

  // Deletes a turn that got no content.
  async dropTurn(chat, turn) {
    chat.turns.delete(turn.id);
    this.unsaved.turns.delete(turn.id);
    try {
      await this.store.removeTurn(turn.id);
    } catch (error) {
      this.on.trouble(error);
    }
  }

  // Called when the page is left: stashes all that is not stored yet, answers under way as far as
  // they came.
  leave() {
    const chats = new Map(this.unsaved.chats);
    const turns = new Map(this.unsaved.turns);
    for (const chat of this.live.values()) {
      if (!chat.answer) continue;
      const turn = {...chat.path().at(-1), note: LEFT};
      delete turn.unfinished;
      chats.set(chat.id, chat.record);
      turns.set(turn.id, turn);
    }
    if (turns.size + chats.size === 0) return;
    stashUnsaved(this.page, {chats: [...chats.values()], turns: [...turns.values()]});
  }

  // Deletes a conversation, and resolves to a function that restores it.
  async remove(id) {
    const record = this.records.get(id);
    const turns = this.live.has(id) ? [...this.live.get(id).turns.values()]
                                    : listOf(await this.store.turns(id), asTurn);
    this.forget(id);
    try {
      await this.store.remove(id);
      this.channel.postMessage({removed: id});
      await this.flush();
    } catch (error) {
      this.on.trouble(error);
    }
    return async () => {
      this.records.set(id, record);
      await this.put([record], turns);
    };
  }

  forget(id) {
    if (this.live.has(id)) this.live.get(id).gone = true;
    this.records.delete(id);
    this.live.delete(id);
    this.texts?.delete(id);
    this.unsaved.chats.delete(id);
    for (const [key, turn] of this.unsaved.turns) {
      if (turn.chat === id) this.unsaved.turns.delete(key);
    }
    this.on.changed();
  }

  hear({chats = [], turns = [], removed}) {
    if (removed) {
      this.forget(removed);
      this.on.removed(removed);
      return;
    }
    this.noteTexts(turns);
    const changed = new Set();
    for (const turn of turns) {
      this.live.get(turn.chat)?.take(turn);
      changed.add(turn.chat);
    }
    for (const record of chats) this.hearRecord(record);
    this.on.changed();
    for (const id of changed) this.on.chat(id);
  }

  // Takes over another tab's record, except its leaf: each tab shows its own branch.
  hearRecord(record) {
    const live = this.live.get(record.id);
    if (live) Object.assign(live.record, record, {leaf: live.record.leaf});
    this.records.set(record.id, live?.record ?? record);
  }

  noteTexts(turns) {
    if (!this.texts) return;
    for (const turn of turns) {
      if (!this.texts.has(turn.chat)) this.texts.set(turn.chat, new Map());
      this.texts.get(turn.chat).set(turn.id, contentOf(turn).toLowerCase());
    }
  }

  // Reads the texts of all turns for the search, once; concurrent searches wait for it.
  async readTexts() {
    this.texts = new Map();
    this.noteTexts(listOf(await this.store.allTurns(), asTurn));
  }

  // Returns the records whose title or turns contain all the words, each with an excerpt around the
  // first word from a turn that has it.
  async find(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length === 0) return this.list().map((record) => ({record, told: ""}));
    this.reading ??= this.readTexts();
    await this.reading;
    const found = [];
    for (const record of this.list()) {
      const texts = [...(this.texts.get(record.id)?.values() ?? [])];
      const title = record.title.toLowerCase();
      const has = (word) => title.includes(word) || texts.some((text) => text.includes(word));
      if (!wanted.every(has)) continue;
      const text = texts.find((one) => one.includes(wanted[0]));
      found.push({record, told: text ? around(text, wanted[0]) : ""});
    }
    return found;
  }
}

function drop(map, list) {
  for (const one of list) if (map.get(one.id) === one) map.delete(one.id);
}

function listOf(list, as) {
  return Array.isArray(list) ? list.map(as).filter(Boolean) : [];
}

function around(text, word) {
  const at = text.indexOf(word);
  const begin = Math.max(0, at - 20);
  return `${begin > 0 ? "…" : ""}${text.slice(begin, at + word.length + 40).replace(/\s+/g, " ")}`;
}
