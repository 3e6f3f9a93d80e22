// One turn of the conversation as it stands on the page: who says it, what, what it cost, and what
// can be done with it. A turn is plain data: {role: "user" | "model", text}, for the model also
// {note, trouble: {message, detail, remedy},
//  figures: {tokens, exact, rate, first, prompt, cached}}.

import {element, Painter} from "./text.js";

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

// Measures an answer while it comes.
export class Meter {
  constructor(now) {
    this.now = now;
    this.begun = now();
    this.figures = {tokens: 0, exact: false, rate: 0, first: 0, prompt: 0, cached: 0};
  }

  // A piece of text: a token, or as many as the server sent at once.
  piece() {
    this.last = this.now();
    if (this.figures.tokens === 0) {
      this.firstAt = this.last;
      this.figures.first = (this.last - this.begun) / 1000;
    }
    this.figures.tokens++;
    this.rate();
  }

  usage(usage) {
    this.figures.tokens = usage.completion_tokens;
    this.figures.exact = true;
    this.figures.prompt = usage.prompt_tokens;
    this.figures.cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    this.rate();
  }

  rate() {
    const spent = (this.last - this.firstAt) / 1000;
    if (this.figures.tokens > 1 && spent > 0) this.figures.rate = (this.figures.tokens - 1) / spent;
  }
}

function button(label, action) {
  const made = element("button", "", label);
  made.type = "button";
  made.addEventListener("click", () => action(made));
  return made;
}

export class TurnView {
  // actions: {copy(text, button) or null, edit(turn), retry(turn), remedy(turn)}
  constructor(turn, actions) {
    this.turn = turn;
    this.actions = actions;
    this.node = element("article", `turn ${turn.role}`);
    this.said = element("div", "said");
    this.trouble = element("div", "trouble");
    this.below = element("div", "below");
    this.figures = element("p", "figures");
    this.figures.setAttribute("aria-live", "off");
    this.painter = turn.role === "model" ? new Painter(this.said, actions.copy) : null;
    this.node.append(element("h2", "unseen", turn.role === "user" ? "You" : "Model"), this.said,
                     this.trouble, this.below);
  }

  paintText() {
    if (this.painter) this.painter.show(this.turn.text);
    else this.said.textContent = this.turn.text;
  }

  paintFigures() {
    this.figures.textContent = [this.turn.note, tellFigures(this.turn.figures)]
        .filter(Boolean).join(" · ");
  }

  // All of it: busy, while its answer comes; idle, where nothing does; last of the conversation.
  paint({busy, idle, last}) {
    this.node.classList.toggle("busy", busy);
    this.node.setAttribute("aria-busy", String(busy));
    this.paintText();
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
    if (turn.role === "model" && turn.text && actions.copy) {
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
