// Paints a text that grows, and does work only for its last blocks: the blocks before are neither
// parsed nor painted again. The complete text is parsed once more as a whole, since links at its
// beginning may use addresses defined at its end.

import {cutBlocks} from "./marks.js";
import {patch, shown} from "./nodes.js";

// The number of last blocks that may still change: the next line may join two of them.
const UNSETTLED = 2;

export class Painter {
  // tools: {copy(text, button), setter}
  constructor(parent, tools) {
    this.parent = parent;
    this.tools = tools;
    this.blocks = [];
    this.settled = 0;    // the number of blocks that can no longer change
    this.end = 0;        // where those blocks end in the text
    this.text = "";
    this.whole = false;
  }

  show(text, whole) {
    if (text === this.text && whole === this.whole) return;
    if (whole || !text.startsWith(this.text)) {
      this.settled = 0;
      this.end = 0;
    }
    const {blocks, defines} = cutBlocks(text.slice(this.end));
    const now = shown(blocks);
    for (const block of now) if (block.end >= 0) block.end += this.end;
    const before = this.blocks;
    const tokens = [...before.slice(0, this.settled), ...now];
    // Links defined later have other addresses although the text is the same, so all nodes are made
    // anew.
    if (whole && defines) {
      this.parent.replaceChildren();
      before.length = 0;
    }
    patch(this.parent, before, tokens, this.tools, this.settled);
    this.blocks = tokens;
    this.text = text;
    this.whole = whole;
    if (!whole && !defines) this.settle();
  }

  settle() {
    for (let i = this.blocks.length - UNSETTLED; i > this.settled; --i) {
      const {end} = this.blocks[i - 1];
      if (end < 0) continue;
      this.settled = i;
      this.end = end;
      return;
    }
  }
}
