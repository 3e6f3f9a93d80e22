// Conversations as files: JSON, which this page can import, and Markdown for people.

import {asRecord, asTurn, Chat, contentOf, newId} from "./chat.js";

const FORM = "hearth-conversations";
const VERSION = 1;

export function toJson(chats) {
  return JSON.stringify({
    form: FORM, version: VERSION,
    chats: chats.map(({record, turns}) => ({...record, turns: [...turns.values()]})),
  }, null, 1);
}

// Returns the conversations in a JSON file, with new ids, so that none is overwritten. Throws an
// Error whose message is a sentence for the reader.
export function fromJson(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("That file is not JSON.");
  }
  if (file?.form !== FORM || !Array.isArray(file.chats)) {
    throw new Error("That file has no conversations of this page in it.");
  }
  if (file.version > VERSION) {
    throw new Error("That file was written by a newer version of this page.");
  }
  return file.chats.map(renamed).filter(Boolean);
}

function renamed(from) {
  const record = asRecord(from);
  if (!record || !Array.isArray(from.turns)) return null;
  const ids = new Map();
  const turns = from.turns.map(asTurn).filter((turn) => turn?.id);
  for (const {id} of turns) ids.set(id, newId());
  record.id = newId();
  record.leaf = ids.get(record.leaf) ?? null;
  for (const turn of turns) {
    Object.assign(turn, {id: ids.get(turn.id), chat: record.id,
                         parent: ids.get(turn.parent) ?? null});
    delete turn.unfinished;
  }
  return new Chat(record, turns);
}

// Returns the shown path as Markdown.
export function toMarkdown(chat) {
  const {title, settings} = chat.record;
  const parts = [`# ${title || "Conversation"}`];
  if (settings.system) parts.push("## System", settings.system);
  for (const turn of chat.path()) {
    parts.push(turn.role === "user" ? "## You" : "## Model");
    if (turn.reasoning) {
      parts.push(`<details><summary>Thought</summary>\n\n${turn.reasoning}\n\n</details>`);
    }
    parts.push(contentOf(turn));
    for (const call of turn.calls ?? []) {
      parts.push(`Calls \`${call.name}\`:`, `\`\`\`json\n${call.arguments}\n\`\`\``);
    }
  }
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

// Offers a file for download.
export function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function fileName(title, ending) {
  const plain = title.normalize("NFKD").replace(/[^\w]+/g, "-").replace(/^-+|-+$/g, "");
  return `${plain.slice(0, 60).toLowerCase() || "conversation"}.${ending}`;
}
