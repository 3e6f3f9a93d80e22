// The list of the server's models, which of them answers, and their states where the server loads
// several.

import {models, Trouble} from "./api.js";
import {$, hideNotice, notify} from "./notices.js";

const DEMO = "demo";
const AGAIN = 1000;  // milliseconds, while the server loads

export class Models {
  // on: {chosen(id), key()}: the reader chose a model, or wants to enter a key.
  constructor(settings, on) {
    this.settings = settings;
    this.on = on;
    this.list = [];
    this.wanted = "";
    $("model").addEventListener("change", () => {
      this.wanted = $("model").value;
      this.paint();
      this.on.chosen(this.wanted);
    });
    // The list is fetched again before the reader chooses.
    $("model").addEventListener("focus", () => this.connect());
  }

  // Selects the model of the shown conversation; an empty id: the first model.
  want(id) {
    this.wanted = id;
    this.paint();
  }

  get chosen() {
    return this.list.find(({id}) => id === this.wanted) ?? this.list[0];
  }

  get id() {
    return this.chosen?.id ?? this.wanted;
  }

  async connect() {
    try {
      this.list = await models(this.settings.key);
      this.paint();
      hideNotice("server");
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      this.tell(error);
    }
  }

  tell(error) {
    if (error.status === 503) {
      notify("The model is still loading.", "", null, "server");
      setTimeout(() => this.connect(), AGAIN);
    } else if (error.remedy === "key") {
      notify(error.message, "Enter a key", this.on.key, "server");
    } else {
      notify(error.message, "Try again", () => this.connect(), "server");
    }
  }

  // Options of the same models are kept as nodes, since the list may be open.
  paintChoices() {
    const options = [...$("model").options];
    const told = ({id, status}) => (status && status !== "loaded" ? `${id} (${status})` : id);
    if (options.map(({value}) => value).join("\n") !== this.list.map(({id}) => id).join("\n")) {
      $("model").replaceChildren(...this.list.map((model) => new Option(told(model), model.id)));
      return;
    }
    options.forEach((option, i) => { option.text = told(this.list[i]); });
  }

  paint() {
    const {chosen, list} = this;
    $("model-name").textContent = list.length === 1 ? chosen.id : "";
    $("model-choice").hidden = list.length < 2;
    if (list.length > 1) this.paintChoices();
    if (!chosen) return;
    $("model").value = chosen.id;
    $("server-facts").textContent = !chosen.context ? "" :
        `${chosen.id} reads ${chosen.context.toLocaleString("en")} tokens at once.`;
    $("demo").hidden = chosen.id !== DEMO;
  }
}
