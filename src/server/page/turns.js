// The view of one turn (chat.js): its role, text, figures and buttons. A turn whose answer is under
// way also has {progress}, the progress in the prompt.

import {tellFigures, tellProgress, tellThought} from "./figures.js";
import {codeBox, element} from "./nodes.js";
import {Painter} from "./painter.js";

// Adds an event's reasoning, text or call to the turn; false where the event has none of these.
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

function button(label, action, name = "") {
  const made = element("button", "", label);
  made.type = "button";
  if (name) made.setAttribute("aria-label", name);
  made.addEventListener("click", () => action(made));
  return made;
}

// Shows the model's reasoning. It is open until the answer begins and then folds once; from then on
// the reader opens and closes it.
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

// Shows the tool calls of a turn.
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

// Returns the node of an attached file, folded.
function fileNode({name, text}) {
  const fold = element("details", "file");
  const body = element("pre", "", text);
  body.tabIndex = 0;
  fold.append(element("summary", "", name), body);
  return fold;
}

export class TurnView {
  // actions: {copy(text, button), setter, edit(turn), retry(turn), remedy(turn), choose(turn)}
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
    if (turn.role === "user") {
      this.said.before(...(turn.files ?? []).map(fileNode));
      return;
    }
    this.painter = new Painter(this.said, actions);
    this.thoughts = new ThoughtsView();
    this.calls = new CallsView(actions);
    this.said.before(this.thoughts.node);
    this.said.after(this.calls.node);
  }

  // Paints the answer, its reasoning and its calls.
  paintAnswer() {
    if (!this.painter) {
      this.said.textContent = this.turn.text;
      this.said.hidden = !this.turn.text;
      return;
    }
    this.thoughts.show(this.turn, this.busy);
    this.painter.show(this.turn.text, !this.busy);
    this.calls.show(this.turn.calls);
  }

  paintFigures() {
    const {note, figures, progress} = this.turn;
    this.figures.textContent = progress ? tellProgress(progress)
                                        : [note, tellFigures(figures)].filter(Boolean).join(" · ");
  }

  // Paints the turn. busy: its answer is under way. idle: no answer of the conversation is under
  // way. last: it is the conversation's last turn. branches: the turns with the same parent, itself
  // among them.
  paint({busy, idle, last, branches}) {
    this.busy = busy;
    this.node.classList.toggle("busy", busy);
    this.node.setAttribute("aria-busy", String(busy));
    this.paintAnswer();
    this.paintFigures();
    this.paintTrouble(idle && last);
    this.below.replaceChildren(...this.choices(branches, idle), this.figures,
                               ...this.buttons(idle, last));
    this.below.hidden = !this.figures.textContent && this.below.children.length === 1;
  }

  // Returns the buttons that change the branch; they are off while an answer is under way.
  choices(branches, idle) {
    if (branches.length < 2) return [];
    const at = branches.indexOf(this.turn);
    const to = (step) => () => this.actions.choose(branches[at + step]);
    const before = button("‹", to(-1), "Previous branch");
    const after = button("›", to(1), "Next branch");
    before.disabled = !idle || at === 0;
    after.disabled = !idle || at === branches.length - 1;
    const place = element("span", "place", `${at + 1} of ${branches.length}`);
    return [before, place, after];
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
