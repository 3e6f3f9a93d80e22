// The page: conversations with the models of this server. Here its parts are put together: what is
// shown, the message box and the keyboard. A conversation is in chat.js, all of them in library.js,
// the server in api.js, a turn in turns.js, its text in painter.js.

import {answer} from "./answering.js";
import {Chat} from "./chat.js";
import {toClipboard} from "./clipboard.js";
import {openStore} from "./db.js";
import {Files} from "./files.js";
import {Library} from "./library.js";
import {Log} from "./log.js";
import {Models} from "./models.js";
import {$, announce, hideNotice, notify, scrollToEnd} from "./notices.js";
import {Setter} from "./setter.js";
import {Settings} from "./settings.js";
import {Sidebar} from "./sidebar.js";
import {loadOpen, saveOpen} from "./store.js";
import {download, fileName, fromJson, toJson, toMarkdown} from "./transfer.js";

const prompt = $("prompt");
const touches = window.matchMedia("(pointer: coarse)");

const log = new Log({
  copy, setter: new Setter(), edit: beginEdit, retry,
  choose(turn) {
    log.chat.choose(turn);
    library.save(log.chat);
    log.show(log.chat);
  },
  remedy(turn) {
    if (turn.trouble.remedy === "key") settings.open($("key"));
    else newChat();
  },
});
const files = new Files();
const settings = new Settings({
  changed(values) {
    log.chat.record.settings = values;
    if (log.chat.turns.size > 0) library.save(log.chat);
  },
  key: () => models.connect(),
});
const models = new Models(settings, {
  chosen(id) {
    log.chat.record.model = id;
    if (log.chat.turns.size > 0) library.save(log.chat);
  },
  key: () => settings.open($("key")),
});
let library;
let sidebar;

async function copy(text, button) {
  if (!await toClipboard(text)) {
    announce("The browser did not allow copying.");
    return;
  }
  announce("Copied.");
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// Shows a conversation

function show(chat) {
  cancelEdit();
  library.show(chat);
  saveOpen(chat.id);
  settings.show(chat.record.settings);
  models.want(chat.record.model);
  log.show(chat);
  scrollToEnd();
  sidebar.paint();
}

async function open(id) {
  if (id === log.chat.id) return;
  show(await library.open(id));
  if (!touches.matches) prompt.focus();
}

function newChat() {
  hideNotice("chat");
  show(Chat.begin(Settings.defaults(), models.wanted));
  prompt.focus();
}

async function remove(id) {
  const {title} = library.records.get(id);
  const shown = log.chat.id === id;
  library.live.get(id)?.answer?.abort();
  const removed = library.remove(id);
  // A new chat is shown before the deletion is stored, so that a question can be asked at once.
  if (shown) newChat();
  const undo = await removed;
  notify(`“${title || "Untitled"}” is deleted.`, "Undo", async () => {
    hideNotice();
    await undo();
    if (shown) show(await library.open(id));
  });
}

async function rename(id, title) {
  const chat = await library.open(id);
  Object.assign(chat.record, {title, named: true});
  await library.save(chat);
}

// Asking

async function ask() {
  await answer(log.chat, {
    model: models.id, key: settings.key, library,
    on: {
      begun(chat) {
        log.show(chat);
        scrollToEnd();
        library.save(chat);
      },
      grown: (chat) => log.paintSoon(chat),
      ended(chat, error) {
        if (error?.status === 404) models.connect();
        if (chat !== log.chat) return;
        const focused = document.activeElement === $("stop");
        log.show(chat);
        if (focused) prompt.focus();
      },
    },
  });
}

function send(text) {
  const {chat} = log;
  if (chat.answer || (text.trim() === "" && files.files.length === 0)) return;
  const edited = log.editing;
  const turn = {role: "user", text};
  const attached = files.take();
  if (attached.length > 0) turn.files = attached;
  log.editing = null;
  hideNotice();
  chat.add(turn, edited ? chat.turns.get(edited.parent) : chat.path().at(-1));
  library.save(chat, [turn]);
  prompt.value = "";
  fitPrompt();
  // The keyboard of a touch screen would hide the answer.
  if (touches.matches) prompt.blur();
  else prompt.focus();
  ask();
}

// Asks for another answer to the same message, as a branch beside `turn`. A `turn` without content
// is dropped.
function retry(turn) {
  const {chat} = log;
  if (chat.answer) return;
  chat.record.leaf = turn.parent;
  if (!turn.text && !turn.reasoning && !turn.calls) library.dropTurn(chat, turn);
  prompt.focus({preventScroll: true});
  ask();
}

function stop() {
  log.chat.answer?.abort();
}

// Changing a message

function beginEdit(turn) {
  log.editing = turn;
  prompt.value = turn.text;
  files.set(turn.files ?? []);
  fitPrompt();
  log.paint();
  prompt.focus();
  notify("Sending begins another branch at the marked message.", "Cancel", cancelEdit, "edit");
}

function cancelEdit() {
  if (!log.editing) return;
  log.editing = null;
  prompt.value = "";
  files.set([]);
  fitPrompt();
  hideNotice("edit");
  log.paint();
  prompt.focus();
}

function editLast() {
  const turn = log.chat.path().findLast(({role}) => role === "user");
  if (turn && !log.chat.answer) beginEdit(turn);
}

// The message box and the keyboard

function fitPrompt() {
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight}px`;
}

function onPromptKey(event) {
  if (event.isComposing) return;
  if (event.key === "ArrowUp" && prompt.value === "" && !log.editing) {
    event.preventDefault();
    editLast();
  }
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  send(prompt.value);
}

function onKey(event) {
  if (event.isComposing || settings.isOpen) return;
  const control = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (control && !event.shiftKey && key === "k") {
    event.preventDefault();
    sidebar.search();
  } else if (control && event.shiftKey && key === "o") {
    event.preventDefault();
    newChat();
  } else if (key === "escape") {
    onEscape();
  }
}

function onEscape() {
  if ($("open-list").getAttribute("aria-expanded") === "true") {
    sidebar.close();
  } else if (log.chat.answer) {
    stop();
    prompt.focus();
  } else {
    cancelEdit();
  }
}

// Files of conversations

async function exportAll() {
  const chats = await Promise.all(library.list().map(({id}) => library.open(id)));
  download("conversations.json", "application/json", toJson(chats));
}

async function importFile(file) {
  try {
    const chats = fromJson(await file.text());
    for (const chat of chats) await library.put([chat.record], [...chat.turns.values()]);
    notify(`${chats.length} conversation${chats.length === 1 ? " was" : "s were"} imported.`);
  } catch (error) {
    notify(error.message);
  }
}

function exportThis(form) {
  const {title} = log.chat.record;
  if (form === "md") download(fileName(title, "md"), "text/markdown", toMarkdown(log.chat));
  else download(fileName(title, "json"), "application/json", toJson([log.chat]));
}

function listen() {
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send(prompt.value);
  });
  prompt.addEventListener("keydown", onPromptKey);
  prompt.addEventListener("input", fitPrompt);
  document.addEventListener("keydown", onKey);
  $("stop").addEventListener("click", stop);
  $("new-chat").addEventListener("click", newChat);
  $("export-all").addEventListener("click", exportAll);
  $("import").addEventListener("click", () => $("import-file").click());
  $("import-file").addEventListener("change", async () => {
    await importFile($("import-file").files[0]);
    $("import-file").value = "";
  });
  $("export-md").addEventListener("click", () => exportThis("md"));
  $("export-json").addEventListener("click", () => exportThis("json"));
  $("ideas").addEventListener("click", (event) => {
    if (event.target instanceof HTMLButtonElement) send(event.target.textContent);
  });
  window.addEventListener("pagehide", () => library.leave());
}

async function begin() {
  const {store, trouble} = await openStore(() => {
    notify("Another tab has a newer version of this page. Reload this one to go on.");
  });
  library = new Library(store, {
    changed: () => sidebar?.paint(),
    chat: (id) => { if (id === log.chat.id) log.show(log.chat); },
    removed: (id) => { if (id === log.chat.id) newChat(); },
    trouble: (error) => notify(error.message, "", null, "store"),
    saved: () => hideNotice("store"),
  });
  await library.load();
  sidebar = new Sidebar(library, {open, rename, remove}, () => log.chat?.id);
  // A new tab shows the conversation last changed, a reload the one that the tab showed.
  const id = library.taken || loadOpen() || library.list()[0]?.id;
  show(library.records.has(id) ? await library.open(id) : Chat.begin(Settings.defaults()));
  listen();
  if (trouble) notify(trouble.message, "", null, "disk");
  document.body.inert = false;
  if (!touches.matches) prompt.focus();
  models.connect();
}

begin();
