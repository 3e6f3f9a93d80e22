// The settings' drawer: system prompt and sampling of the shown conversation, which new
// conversations begin with, too, and the server's key.

import {SAMPLING} from "./answering.js";
import {$} from "./notices.js";
import * as store from "./store.js";

const FIELDS = ["system", ...SAMPLING];

export class Settings {
  // on: {changed(values), key()}
  constructor(on) {
    this.on = on;
    this.drawer = $("settings");
    $("open-settings").addEventListener("click", () => this.open());
    $("settings-form").addEventListener("input", ({target}) => this.save(target));
    $("reset-sampling").addEventListener("click", () => {
      for (const name of SAMPLING) $(name).value = "";
      this.save($("temperature"));
    });
    $("key").value = store.loadKey();
    $("key").addEventListener("change", on.key);
    this.drawer.addEventListener("click", (event) => {
      if (event.target === this.drawer) this.drawer.close();  // the backdrop
    });
  }

  get isOpen() {
    return this.drawer.open;
  }

  get key() {
    return $("key").value.trim();
  }

  open(field = null) {
    this.drawer.showModal();
    field?.focus();
  }

  // Returns the settings with which a new conversation begins.
  static defaults() {
    const values = {};
    for (const [name, value] of Object.entries(store.loadSettings())) {
      if (FIELDS.includes(name) && typeof value === "string") values[name] = value;
    }
    return values;
  }

  show(values) {
    for (const name of FIELDS) $(name).value = values[name] ?? "";
  }

  // Stores the fields' values, those of them that are valid.
  save(field) {
    if (field === $("key")) {
      store.saveKey($("key").value);
      return;
    }
    const values = {};
    for (const name of FIELDS) {
      if ($(name).value !== "" && $(name).validity.valid) values[name] = $(name).value;
    }
    store.saveSettings(values);
    this.on.changed(values);
  }
}
