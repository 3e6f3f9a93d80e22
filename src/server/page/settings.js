// The drawer of settings: system prompt and sampling of the conversation that is shown, which are
// what the next new one begins with; the key of the server.

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

  // Returns the values with which a new conversation begins.
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

  // A value that is none of its field is kept out.
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
