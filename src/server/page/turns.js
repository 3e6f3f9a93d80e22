// One turn of the conversation as it stands on the page: who says it, what, what it cost, and what
// can be done with it. A turn is plain data: {role: "user" | "model", text}, for the model also
// {reasoning, calls: [{index, name, arguments}], note, trouble: {message, detail, remedy},
//  figures: {tokens, exact, rate, first, thought, prompt, cached}}.

import {codeBox, element} from "./nodes.js";
import {Painter} from "./painter.js";

// Adds to the turn what the event brings of an answer; false where that is nothing.
export function grow(turn, {reasoning, text, call}) {
  if (reasoning) turn.reasoning = (turn.reasoning ?? "") + reasoning;
  if (text) turn.text += text;
  if (call) {
    turn.calls ??= [];
    let grown = turn.calls.find(({index}) => index === call.index);
    if (!grown) turn.calls.push(grown = {index: call.index, name: "", arguments: ""});
    grown.name += call.name;
    grown.arguments += call.arguments;
  }
  return Boolean(reasoning || text || call);
}

function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function seconds(value) {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;
}

export function tellFigures(figures) {
  if (!figures) return "";
  const parts = [];
  if (figures.tokens > 0) parts.push((figures.exact ? "" : "~") + count(figures.tokens, "token"));
  if (figures.rate > 0) {
    const digits = figures.rate < 100 ? 1 : 0;
    const rate = figures.rate.toLocaleString("en", {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    });
    parts.push(`${rate} tokens/s`);
  }
  if (figures.first > 0) parts.push(`first after ${seconds(figures.first)}`);
  if (figures.cached > 0) {
    parts.push(`${figures.cached} of ${count(figures.prompt, "prompt token")} cached`);
  }
  return parts.join(" · ");
}

// The heading of what the model thought; `busy` while it still thinks.
export function tellThought(figures, busy) {
  if (busy) return "Thinking";
  if (!figures?.thought) return "Thought";
  const spent = Math.round(figures.thought);
  if (spent === 0) return "Thought for a moment";
  const rest = spent % 60;
  if (spent < 60) return `Thought for ${spent} s`;
  return `Thought for ${(spent - rest) / 60} min${rest > 0 ? ` ${rest} s` : ""}`;
}

// Measures an answer while it comes.
export class Meter {
  constructor(now) {
    this.now = now;
    this.begun = now();
    this.answering = false;
    this.figures = {tokens: 0, exact: false, rate: 0, first: 0, thought: 0, prompt: 0, cached: 0};
  }

  // A piece of reasoning or of the answer: a token, or as many as the server sent at once.
  piece(reasoning) {
    const last = this.now();
    if (this.figures.tokens === 0) {
      this.firstAt = last;
      this.figures.first = (last - this.begun) / 1000;
    }
    this.figures.tokens++;
    if (!this.answering) this.figures.thought = (last - this.firstAt) / 1000;
    if (!reasoning) this.answering = true;
  }

  usage(usage) {
    this.figures.tokens = usage.completion_tokens;
    this.figures.exact = true;
    this.figures.prompt = usage.prompt_tokens;
    this.figures.cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  }

  // Only the server knows when it computed what: pieces that come together were not made at once.
  timings(timings) {
    this.figures.rate = timings.predicted_per_second;
  }
}

function button(label, action) {
  const made = element("button", "", label);
  made.type = "button";
  made.addEventListener("click", () => action(made));
  return made;
}

// What the model thought before it answered, as it stands. It is open as long as there is nothing
// else to read, and is folded as soon as there is; then it is the reader's.
class ThoughtsView {
  constructor() {
    this.node = element("details", "thoughts");
    this.summary = element("summary", "");
    this.text = document.createTextNode("");
    const box = element("div", "thought");
    box.append(this.text);
    this.node.append(this.summary, box);
    this.node.open = true;
    this.folded = false;
  }

  show(turn, busy) {
    const {reasoning = "", text, calls = []} = turn;
    const answered = Boolean(text) || calls.length > 0;
    const told = tellThought(turn.figures, busy && !answered);
    this.node.hidden = !reasoning;
    if (this.summary.textContent !== told) this.summary.textContent = told;
    if (reasoning.length > this.text.length) {
      this.text.appendData(reasoning.slice(this.text.length));
    }
    if (answered && !this.folded) {
      this.node.open = false;
      this.folded = true;
    }
  }
}

// The calls of tools that a turn made.
class CallsView {
  constructor(tools) {
    this.node = element("div", "calls");
    this.tools = tools;
  }

  show(calls = []) {
    this.node.hidden = calls.length === 0;
    calls.forEach((call, index) => {
      let box = this.node.children[index];
      if (!box) {
        box = codeBox(`Calls ${call.name}`, `Arguments of ${call.name}`, "", this.tools);
        this.node.append(box);
      }
      const code = box.querySelector("code");
      if (code.textContent !== call.arguments) code.textContent = call.arguments;
    });
  }
}

export class TurnView {
  // actions: {copy(text, button), setter, edit(turn), retry(turn), remedy(turn)}
  constructor(turn, actions) {
    this.turn = turn;
    this.actions = actions;
    this.node = element("article", `turn ${turn.role}`);
    this.said = element("div", "said");
    this.trouble = element("div", "trouble");
    this.below = element("div", "below");
    this.figures = element("p", "figures");
    this.figures.setAttribute("aria-live", "off");
    this.node.append(element("h2", "unseen", turn.role === "user" ? "You" : "Model"), this.said,
                     this.trouble, this.below);
    if (turn.role === "user") return;
    this.painter = new Painter(this.said, actions);
    this.thoughts = new ThoughtsView();
    this.calls = new CallsView(actions);
    this.said.before(this.thoughts.node);
    this.said.after(this.calls.node);
  }

  // What was said, and what the model thought and called beside it.
  paintAnswer() {
    if (!this.painter) {
      this.said.textContent = this.turn.text;
      return;
    }
    this.thoughts.show(this.turn, this.busy);
    this.painter.show(this.turn.text, !this.busy);
    this.calls.show(this.turn.calls);
  }

  paintFigures() {
    this.figures.textContent = [this.turn.note, tellFigures(this.turn.figures)]
        .filter(Boolean).join(" · ");
  }

  // All of it: busy, while its answer comes; idle, where nothing does; last of the conversation.
  paint({busy, idle, last}) {
    this.busy = busy;
    this.node.classList.toggle("busy", busy);
    this.node.setAttribute("aria-busy", String(busy));
    this.paintAnswer();
    this.paintFigures();
    this.paintTrouble(idle && last);
    this.below.replaceChildren(this.figures, ...this.buttons(idle, last));
    this.below.hidden = !this.figures.textContent && this.below.children.length === 1;
  }

  buttons(idle, last) {
    const {turn, actions} = this;
    const made = [];
    if (!idle) return made;
    if (turn.role === "user") made.push(button("Edit", () => actions.edit(turn)));
    if (turn.role === "model" && turn.text) {
      made.push(button("Copy", (self) => actions.copy(turn.text, self)));
    }
    if (turn.role === "model" && last && !turn.trouble) {
      made.push(button("Retry", () => actions.retry(turn)));
    }
    return made;
  }

  paintTrouble(offer) {
    const {turn, actions} = this;
    this.trouble.hidden = !turn.trouble;
    this.trouble.replaceChildren();
    if (!turn.trouble) return;
    const told = element("p", "", turn.trouble.message);
    if (turn.trouble.detail) {
      told.append(element("br", ""), element("span", "detail", turn.trouble.detail));
    }
    this.trouble.append(told);
    if (!offer) return;
    if (turn.trouble.remedy === "key") {
      this.trouble.append(button("Enter a key", () => actions.remedy(turn)));
    }
    if (turn.trouble.remedy === "new") {
      this.trouble.append(button("Start a new chat", () => actions.remedy(turn)));
    }
    this.trouble.append(button("Retry", () => actions.retry(turn)));
  }
}
