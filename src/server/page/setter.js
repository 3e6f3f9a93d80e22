// Colours code with highlight.js and sets formulas with KaTeX in a worker, started with the first
// job. A job that takes too long is given up together with its worker, so that no text can block
// the page; that text stays as it was.

const SECONDS = 20;     // for a job and the loading of its scripts
const MOST_CODE = 100_000;
const MOST_KEPT = 500;  // formulas

export class Setter {
  constructor(start = () => new Worker("/page/setter_worker.js")) {
    this.start = start;
    this.worker = null;
    this.jobs = [];        // the first one is under way
    this.timer = 0;
    this.formulas = new Map();
  }

  // Calls done([[text, class], ...]) with the code's coloured pieces if its language is known.
  tint(language, code, done) {
    if (code.length <= MOST_CODE) this.ask({kind: "tint", language, text: code}, done);
  }

  // Calls done(tree) (a tree as in mathml.js), at once if the formula is in the cache.
  formula(text, display, done) {
    const key = `${display}${text}`;
    const known = this.formulas.get(key);
    if (known) return done(known);
    return this.ask({kind: "formula", text, display}, (tree) => {
      if (this.formulas.size >= MOST_KEPT) this.formulas.clear();
      this.formulas.set(key, tree);
      done(tree);
    });
  }

  ask(job, done) {
    this.jobs.push({job, done});
    if (this.jobs.length === 1) this.begin();
  }

  begin() {
    if (this.jobs.length === 0) return;
    if (!this.worker) {
      this.worker = this.start();
      this.worker.onmessage = ({data}) => this.finish(data);
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.giveUp();
      };
    }
    this.timer = setTimeout(() => this.giveUp(), SECONDS * 1000);
    this.worker.postMessage(this.jobs[0].job);
  }

  finish(result) {
    clearTimeout(this.timer);
    const {done} = this.jobs.shift();
    this.begin();
    if (result) done(result);
  }

  giveUp() {
    this.worker.terminate();
    this.worker = null;
    this.finish(null);
  }
}
