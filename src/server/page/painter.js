// Shows a text that grows, at the cost of its last blocks: those before them are neither read nor
// painted again. When the text is whole it is read once more as a whole, since what its end defines
// may be meant at its beginning.

import {cutBlocks} from "./marks.js";
import {patch, shown} from "./nodes.js";

// Blocks that may still become another: the next line may join two.
const UNSETTLED = 2;

export class Painter {
  // tools: {copy(text, button), setter}
  constructor(parent, tools) {
    this.parent = parent;
    this.tools = tools;
    this.blocks = [];
    this.settled = 0;    // blocks
    this.end = 0;        // of these in the text
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
    // The same text makes other nodes with other addresses.
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
