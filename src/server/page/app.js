// The page: a conversation with the model that this server serves. Here are its state, the message
// box, the keyboard and the settings; the server is in api.js, a turn in turns.js, its text in
// painter.js.

import {chat, firstModel, Trouble} from "./api.js";
import {toClipboard} from "./clipboard.js";
import {Setter} from "./setter.js";
import * as store from "./store.js";
import {grow, Meter, TurnView} from "./turns.js";

const $ = (id) => document.getElementById(id);
const prompt = $("prompt");
const settings = $("settings");
const FIELDS = ["system", "temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];

const state = {
  turns: store.loadTurns(),
  views: [],
  model: "",
  answering: null,   // the AbortController of the answer under way
  painting: false,   // whether a frame is asked for
  editing: -1,       // the turn that the message box replaces
};

// The conversation

const actions = {
  copy,
  setter: new Setter(),
  edit: beginEdit,
  retry,
  remedy(turn) {
    if (turn.trouble.remedy === "key") openSettings($("key"));
    else newChat();
  },
};

async function copy(text, button) {
  if (!await toClipboard(text)) {
    announce("The browser did not allow copying.");
    return;
  }
  announce("Copied.");
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function addTurn(turn) {
  state.turns.push(turn);
  showTurn(turn);
  return turn;
}

function showTurn(turn) {
  const view = new TurnView(turn, actions);
  state.views.push(view);
  $("log").append(view.node);
}

function dropTurnsFrom(index) {
  state.turns.length = index;
  for (const view of state.views.splice(index)) view.node.remove();
}

function paint() {
  const idle = state.answering === null;
  const end = state.views.length - 1;
  const following = isAtEnd();
  state.views.forEach((view, index) => {
    view.paint({busy: !idle && index === end, idle, last: index === end});
    view.node.classList.toggle("edited", index === state.editing);
  });
  $("welcome").hidden = state.turns.length > 0;
  $("send").hidden = !idle;
  $("stop").hidden = idle;
  $("new-chat").disabled = state.turns.length === 0;
  if (following) scrollToEnd();
}

// At most once a frame, and only what grows.
function paintSoon() {
  if (state.painting) return;
  state.painting = true;
  requestAnimationFrame(() => {
    state.painting = false;
    const view = state.views[state.views.length - 1];
    if (!state.answering || !view) return;
    const following = isAtEnd();
    view.paintAnswer();
    view.paintFigures();
    view.below.hidden = false;
    if (following) scrollToEnd();
  });
}

// A reader who scrolled up stays there.
function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - window.innerHeight - window.scrollY < 90;
}

function scrollToEnd() {
  window.scrollTo(0, document.documentElement.scrollHeight);
}

function announce(text) {
  $("announcer").textContent = text;
}

// Asking

// What the server gets: turns without text are left out, and what the same one said twice in a row
// is one message, since many templates want the two to take turns. What the model thought goes back
// with what it said; its calls do not, since nobody answered them.
function messages() {
  const list = [];
  const system = $("system").value.trim();
  if (system) list.push({role: "system", content: system});
  for (const turn of state.turns) {
    const role = turn.role === "user" ? "user" : "assistant";
    let message = list[list.length - 1];
    if (!turn.text) continue;
    if (message && message.role === role) message.content += `\n\n${turn.text}`;
    else list.push(message = {role, content: turn.text});
    if (turn.reasoning) {
      const before = message.reasoning_content;
      message.reasoning_content = before ? `${before}\n\n${turn.reasoning}` : turn.reasoning;
    }
  }
  return list;
}

function sampling() {
  const chosen = {};
  for (const name of FIELDS.slice(1)) {
    const field = $(name);
    if (field.value !== "" && field.validity.valid) chosen[name] = Number(field.value);
  }
  return chosen;
}

async function answer() {
  const body = {messages: messages(), ...sampling()};
  if (state.model) body.model = state.model;
  const control = new AbortController();
  const turn = addTurn({role: "model", text: ""});
  const meter = new Meter(() => performance.now());
  state.answering = control;
  turn.figures = meter.figures;
  paint();
  scrollToEnd();
  announce("The model is answering.");
  try {
    for await (const event of chat(body, $("key").value.trim(), control.signal)) {
      if (grow(turn, event)) {
        meter.piece(Boolean(event.reasoning));
        paintSoon();
      }
      if (event.finish === "length") turn.note = "Reached the most tokens";
      if (event.usage) meter.usage(event.usage);
      if (event.timings) meter.timings(event.timings);
    }
    announce("The answer is complete.");
  } catch (error) {
    endEarly(turn, error);
  }
  if (state.answering !== control) return;  // a new chat has begun meanwhile
  state.answering = null;
  store.saveTurns(state.turns);
  const focused = document.activeElement === $("stop");
  paint();
  if (focused) prompt.focus();
}

function endEarly(turn, error) {
  if (error.name === "AbortError") {
    turn.note = "Stopped";
    announce("Stopped.");
    return;
  }
  const trouble = error instanceof Trouble ? error : new Trouble("The page itself failed.", {
    detail: String(error),
  });
  turn.trouble = {message: trouble.message, detail: trouble.detail, remedy: trouble.remedy};
  announce("");
  if (trouble.status === 404) connect();
}

function stop() {
  if (state.answering) state.answering.abort();
}

function send(text) {
  if (state.answering || text.trim() === "") return;
  if (state.editing >= 0) dropTurnsFrom(state.editing);
  state.editing = -1;
  hideNotice();
  addTurn({role: "user", text});
  store.saveTurns(state.turns);
  prompt.value = "";
  fitPrompt();
  // On a touch screen the keyboard would hide the answer.
  if (window.matchMedia("(pointer: coarse)").matches) prompt.blur();
  else prompt.focus();
  answer();
}

function retry(turn) {
  if (state.answering) return;
  dropTurnsFrom(state.turns.indexOf(turn));
  prompt.focus({preventScroll: true});
  answer();
}

function newChat() {
  const before = state.turns.slice();
  stop();
  state.answering = null;
  state.editing = -1;
  dropTurnsFrom(0);
  store.saveTurns(state.turns);
  paint();
  prompt.focus();
  notify("A new chat.", "Bring the last one back", () => {
    if (state.answering) return;
    dropTurnsFrom(0);
    before.forEach(addTurn);
    store.saveTurns(state.turns);
    hideNotice();
    paint();
    prompt.focus();
  });
}

// Changing what was said

function beginEdit(turn) {
  state.editing = state.turns.indexOf(turn);
  prompt.value = turn.text;
  fitPrompt();
  paint();
  prompt.focus();
  notify("Sending replaces the marked message and all that follows.", "Cancel", cancelEdit);
}

function cancelEdit() {
  state.editing = -1;
  prompt.value = "";
  fitPrompt();
  hideNotice();
  paint();
  prompt.focus();
}

// The message box

function fitPrompt() {
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight}px`;
}

// `about`: "server" for what the next word from the server makes untrue.
function notify(text, label, action, about = "chat") {
  const following = isAtEnd();
  $("notice-text").textContent = text;
  $("notice-action").textContent = label || "";
  $("notice-action").hidden = !label;
  $("notice-action").onclick = action || null;
  $("notice").dataset.about = about;
  $("notice").hidden = false;
  if (following) scrollToEnd();
}

function hideNotice() {
  $("notice").hidden = true;
}

function onPromptKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send(prompt.value);
}

function onKey(event) {
  if (event.key !== "Escape" || settings.open || event.isComposing) return;
  if (state.answering) {
    stop();
    prompt.focus();
  } else if (state.editing >= 0) {
    cancelEdit();
  }
}

// Settings

function openSettings(field) {
  settings.showModal();
  if (field instanceof HTMLElement) field.focus();
}

function saveSettings() {
  const values = {};
  for (const name of FIELDS) values[name] = $(name).value;
  store.saveSettings(values);
  store.saveKey($("key").value);
}

function fillSettings() {
  const values = store.loadSettings();
  for (const name of FIELDS) $(name).value = typeof values[name] === "string" ? values[name] : "";
  $("key").value = store.loadKey();
}

// The server

async function connect() {
  try {
    const model = await firstModel($("key").value.trim());
    state.model = model.id;
    $("model-name").textContent = model.id;
    $("server-facts").textContent = !model.max_model_len ? "" :
        `${model.id} reads ${model.max_model_len.toLocaleString("en")} tokens at once.`;
    if ($("notice").dataset.about === "server") hideNotice();
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    if (error.status === 503) {
      notify("The model is still loading.", "", null, "server");
      setTimeout(connect, 1000);
    } else if (error.remedy === "key") {
      notify(error.message, "Enter a key", () => openSettings($("key")), "server");
    } else {
      notify(error.message, "Try again", connect, "server");
    }
  }
}

function begin() {
  fillSettings();
  const turns = state.turns;
  state.turns = [];
  turns.forEach(addTurn);
  paint();
  scrollToEnd();

  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send(prompt.value);
  });
  prompt.addEventListener("keydown", onPromptKey);
  prompt.addEventListener("input", fitPrompt);
  document.addEventListener("keydown", onKey);
  $("stop").addEventListener("click", stop);
  $("new-chat").addEventListener("click", newChat);
  $("open-settings").addEventListener("click", openSettings);
  $("ideas").addEventListener("click", (event) => {
    if (event.target instanceof HTMLButtonElement) send(event.target.textContent);
  });
  $("settings-form").addEventListener("input", saveSettings);
  $("reset-sampling").addEventListener("click", () => {
    for (const name of FIELDS.slice(1)) $(name).value = "";
    saveSettings();
  });
  $("key").addEventListener("change", connect);
  settings.addEventListener("click", (event) => {
    if (event.target === settings) settings.close();  // the backdrop
  });
  window.addEventListener("pagehide", () => {
    if (!state.answering) return;
    state.turns[state.turns.length - 1].note = "Cut short when the page was left";
    store.saveTurns(state.turns);
  });
  if (!window.matchMedia("(pointer: coarse)").matches) prompt.focus();
  connect();
}

begin();
