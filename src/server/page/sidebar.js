// The list of conversations: beside the shown one on a wide screen, over it on a narrow one.

import {$, announce} from "./notices.js";
import {element} from "./nodes.js";

const WIDE = window.matchMedia("(min-width: 64rem)");

function button(label, name, action) {
  const made = element("button", "", label);
  made.type = "button";
  made.title = name;
  made.setAttribute("aria-label", name);
  made.addEventListener("click", action);
  return made;
}

export class Sidebar {
  // actions: {open(id), rename(id, title), remove(id)}; shown(): returns the shown conversation's
  // id
  constructor(library, actions, shown) {
    this.library = library;
    this.actions = actions;
    this.shown = shown;
    this.renaming = "";
    this.painted = 0;
    this.key = "";
    $("open-list").addEventListener("click", () => this.toggle());
    $("close-list").addEventListener("click", () => this.close());
    $("search").addEventListener("input", () => this.paint());
    $("search").addEventListener("keydown", (event) => this.onSearchKey(event));
    WIDE.addEventListener("change", () => this.place(false));
    this.place(false);
  }

  get isOpen() {
    return !$("list").hidden;
  }

  // Opens or closes the list. While it lies over the conversation nothing else can be focused.
  place(open) {
    const over = open && !WIDE.matches;
    $("list").hidden = !open && !WIDE.matches;
    $("open-list").setAttribute("aria-expanded", String(over));
    document.body.classList.toggle("listed", over);
    for (const part of ["header", "main", "dock"]) $(part).inert = over;
  }

  toggle() {
    this.place(!this.isOpen);
    if (this.isOpen && !WIDE.matches) $("close-list").focus();
  }

  close() {
    if (WIDE.matches) return;
    this.place(false);
    $("open-list").focus();
  }

  search() {
    this.place(true);
    $("search").focus();
    $("search").select();
  }

  onSearchKey(event) {
    if (event.key === "Escape" && $("search").value) {
      event.stopPropagation();
      $("search").value = "";
      this.paint();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      $("chats").querySelector(".title")?.[event.key === "Enter" ? "click" : "focus"]();
    }
  }

  // Paints the list. If two calls overlap, the later one's result is shown.
  async paint() {
    const mine = ++this.painted;
    const words = $("search").value;
    const found = await this.library.find(words);
    if (mine !== this.painted) return;
    // An unchanged list keeps its nodes, with the focus and a title being edited.
    const key = JSON.stringify([this.shown(), this.renaming, words.trim() === "",
                                found.map(({record, told}) => [record.id, record.title, told])]);
    if (key === this.key) return;
    this.key = key;
    const focused = document.activeElement?.dataset?.focus;
    $("chats").replaceChildren(...found.map(({record, told}) => this.item(record, told)));
    $("none").hidden = found.length > 0;
    $("none").textContent = words.trim() ? "Nothing found." : "No conversations yet.";
    if (words.trim()) announce(`${found.length} found.`);
    if (focused) $("chats").querySelector(`[data-focus="${focused}"]`)?.focus();
  }

  item(record, told) {
    const item = element("li", "");
    const current = record.id === this.shown();
    item.classList.toggle("current", current);
    if (record.id === this.renaming) {
      item.append(this.field(record));
      return item;
    }
    const title = record.title || "Untitled";
    const open = element("button", "title", title);
    open.type = "button";
    open.dataset.focus = record.id;
    if (current) open.setAttribute("aria-current", "true");
    if (told) open.append(element("span", "told", told));
    open.addEventListener("click", () => {
      this.actions.open(record.id);
      this.close();
    });
    item.append(open, button("✎", `Rename “${title}”`, () => this.rename(record.id)),
                button("×", `Delete “${title}”`, () => this.actions.remove(record.id)));
    return item;
  }

  async rename(id) {
    this.renaming = id;
    await this.paint();
    $("chats").querySelector("input")?.select();
  }

  field(record) {
    const field = element("input", "");
    field.value = record.title;
    field.maxLength = 200;
    field.setAttribute("aria-label", "Name of the conversation");
    const end = async (keep) => {
      if (this.renaming !== record.id) return;
      this.renaming = "";
      if (keep && field.value.trim()) await this.actions.rename(record.id, field.value.trim());
      await this.paint();
      $("chats").querySelector(`[data-focus="${record.id}"]`)?.focus();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      end(event.key === "Enter");
    });
    field.addEventListener("blur", () => end(true));
    return field;
  }
}
