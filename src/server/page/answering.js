// Asks the server for the next turn of a conversation and adds to the turn as events come.

import {chat as ask, Trouble} from "./api.js";
import {messagesOf} from "./chat.js";
import {Meter} from "./figures.js";
import {announce} from "./notices.js";
import {grow} from "./turns.js";

// Milliseconds between saves of an answer under way.
const EVERY = 1000;

export const SAMPLING = ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];

function bodyOf(chat, path, model) {
  const {settings} = chat.record;
  const body = {messages: messagesOf(path, (settings.system ?? "").trim())};
  for (const name of SAMPLING) {
    const value = settings[name] ?? "";
    if (value !== "" && Number.isFinite(Number(value))) body[name] = Number(value);
  }
  if (model) body.model = model;
  return body;
}

// Answers the turn at the chat's leaf; the new turn becomes its child. on: {begun(chat),
// grown(chat), ended(chat, error)}.
export async function answer(chat, {model, key, library, on}) {
  const path = chat.path();
  const body = bodyOf(chat, path, model);
  const control = new AbortController();
  const turn = chat.add({role: "model", text: "", model}, path.at(-1));
  const meter = new Meter(() => performance.now());
  chat.answer = control;
  turn.figures = meter.figures;
  on.begun(chat);
  announce("The model is answering.");
  let failed = null;
  let stored = Date.now();
  try {
    for await (const event of ask(body, key, control.signal)) {
      take(turn, event, meter);
      on.grown(chat);
      if (Date.now() - stored < EVERY || event.finish) continue;
      stored = Date.now();
      library.save(chat, [asStored({...turn, unfinished: stored})]);
    }
    announce("The answer is complete.");
  } catch (error) {
    failed = error;
    endEarly(turn, error);
  }
  delete turn.progress;
  chat.answer = null;
  library.save(chat, [turn]);
  on.ended(chat, failed);
}

function asStored({progress, ...turn}) {
  return turn;
}

function take(turn, event, meter) {
  if (event.progress) turn.progress = event.progress;
  if (grow(turn, event)) {
    delete turn.progress;
    meter.piece(Boolean(event.reasoning));
  }
  if (event.finish === "length") turn.note = "Reached the token limit";
  if (event.usage) meter.usage(event.usage);
  if (event.timings) meter.timings(event.timings);
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
}
