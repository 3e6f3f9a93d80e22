// The conversation that is shown: one view for each turn of its path.

import {$, isAtEnd, scrollToEnd} from "./notices.js";
import {TurnView} from "./turns.js";

export class Log {
  // actions: as for TurnView
  constructor(actions) {
    this.actions = actions;
    this.chat = null;
    this.views = [];
    this.painting = false;   // whether a frame is asked for
    this.editing = null;     // the turn that the message box changes
  }

  // Shows a chat's path. Views of turns that are still on it are reused.
  show(chat) {
    this.chat = chat;
    const path = chat.path();
    let same = 0;
    while (same < path.length && this.views[same]?.turn === path[same]) ++same;
    for (const view of this.views.splice(same)) view.node.remove();
    for (const turn of path.slice(same)) {
      const view = new TurnView(turn, this.actions);
      this.views.push(view);
      $("log").append(view.node);
    }
    this.paint();
  }

  paint() {
    const idle = this.chat.answer === null;
    const end = this.views.length - 1;
    const following = isAtEnd();
    this.views.forEach((view, index) => {
      view.paint({busy: !idle && index === end, idle, last: index === end,
                  branches: this.chat.branches(view.turn)});
      view.node.classList.toggle("edited", view.turn === this.editing);
    });
    $("welcome").hidden = this.views.length > 0;
    $("send").hidden = !idle;
    $("stop").hidden = idle;
    if (following) scrollToEnd();
  }

  // Asks for a paint with the next frame, in which only growing turns are painted.
  paintSoon(chat) {
    if (this.painting || chat !== this.chat) return;
    this.painting = true;
    requestAnimationFrame(() => {
      this.painting = false;
      const view = this.views.at(-1);
      if (!this.chat.answer || !view) return;
      const following = isAtEnd();
      view.paintAnswer();
      view.paintFigures();
      view.below.hidden = false;
      if (following) scrollToEnd();
    });
  }
}
