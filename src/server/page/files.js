// Text files attached to a message: chosen, dropped or pasted.

import {$, notify} from "./notices.js";
import {element} from "./nodes.js";

const MOST_BYTES = 1_000_000;  // of a file
const MOST_FILES = 20;

export class Files {
  constructor() {
    this.files = [];
    $("attach").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", () => {
      this.add($("file").files);
      $("file").value = "";
    });
    document.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    document.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
    $("prompt").addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.add(event.clipboardData.files);
    });
  }

  async add(list) {
    for (const file of [...list]) {
      const why = this.files.length >= MOST_FILES ? `a message takes ${MOST_FILES} files`
                  : file.size > MOST_BYTES        ? "it is larger than 1 MB"
                                                  : await this.read(file);
      if (why) notify(`${file.name} is not attached: ${why}.`);
    }
    this.paint();
  }

  // Adds a file's text. Returns why it is no text; "" where it was added.
  async read(file) {
    try {
      const text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
      if (text.includes("\0")) return "it is no text";
      this.files.push({name: file.name, text: text.replaceAll("\r\n", "\n")});
      return "";
    } catch {
      return "it is no text in UTF-8";
    }
  }

  set(files) {
    this.files = [...files];
    this.paint();
  }

  // Returns the files for a message, and empties the list.
  take() {
    const files = this.files;
    this.set([]);
    return files;
  }

  paint() {
    $("files").hidden = this.files.length === 0;
    $("files").replaceChildren(...this.files.map((file) => {
      const item = element("li", "", file.name);
      const remove = element("button", "", "×");
      remove.type = "button";
      remove.setAttribute("aria-label", `Remove ${file.name}`);
      remove.addEventListener("click", () => this.set(this.files.filter((one) => one !== file)));
      item.append(remove);
      return item;
    }));
  }
}
