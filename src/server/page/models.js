// The models of the server, which one answers, and how each is: a server of several says whether it
// is loaded.

import {models, Trouble} from "./api.js";
import {$, hideNotice, notify} from "./notices.js";

const DEMO = "demo";
const AGAIN = 1000;  // milliseconds, while the server loads

export class Models {
  // on: {chosen(id), key()}: who reads here chose a model, or wants to enter a key.
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
    // The list of models is read anew before a choice is made.
    $("model").addEventListener("focus", () => this.connect());
  }

  // Takes the model of the conversation that is shown; empty: the first.
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

  // The nodes stay where the same models are there: the choice may be open.
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
