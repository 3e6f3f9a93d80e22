// Measures an answer while it comes (its tokens and times), and puts the figures into words.

function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function seconds(value) {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(1)} s`;
}

export function tellFigures(figures) {
  if (!figures) return "";
  const parts = [];
  if (figures.tokens > 0) parts.push((figures.exact ? "" : "~") + count(figures.tokens, "token"));
  if (figures.rate > 0) {
    const digits = figures.rate < 100 ? 1 : 0;
    const rate = figures.rate.toLocaleString("en", {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    });
    parts.push(`${rate} tokens/s`);
  }
  if (figures.first > 0) parts.push(`first after ${seconds(figures.first)}`);
  if (figures.cached > 0) {
    parts.push(`${figures.cached} of ${count(figures.prompt, "prompt token")} cached`);
  }
  return parts.join(" · ");
}

function minutes(value) {
  const whole = Math.round(value);
  const rest = whole % 60;
  if (whole < 60) return `${whole} s`;
  return `${(whole - rest) / 60} min${rest > 0 ? ` ${rest} s` : ""}`;
}

// Returns the heading of the model's reasoning; `busy`: it is still reasoning.
export function tellThought(figures, busy) {
  if (busy) return "Thinking";
  if (!figures?.thought) return "Thought";
  if (Math.round(figures.thought) === 0) return "Thought for a moment";
  return `Thought for ${minutes(figures.thought)}`;
}

// Returns a sentence for the progress in the prompt, {total, cache, processed, time_ms} as the
// server sends it.
export function tellProgress({total, cache, processed, time_ms: spent}) {
  const read = processed - cache;
  const left = total - processed;
  const told = `Reading: ${processed.toLocaleString("en")} of ${count(total, "token")}`;
  if (read <= 0 || left <= 0 || spent <= 0) return told;
  const wait = left * spent / read / 1000;
  return wait < 1 ? told : `${told} · about ${minutes(wait)} left`;
}

// Measures an answer while it comes.
export class Meter {
  constructor(now) {
    this.now = now;
    this.begun = now();
    this.answering = false;
    this.figures = {tokens: 0, exact: false, rate: 0, first: 0, thought: 0, prompt: 0, cached: 0};
  }

  // Counts one part of reasoning or text: a token, or as many as the server sent at once.
  piece(reasoning) {
    const last = this.now();
    if (this.figures.tokens === 0) {
      this.firstAt = last;
      this.figures.first = (last - this.begun) / 1000;
    }
    this.figures.tokens++;
    if (!this.answering) this.figures.thought = (last - this.firstAt) / 1000;
    if (!reasoning) this.answering = true;
  }

  usage(usage) {
    this.figures.tokens = usage.completion_tokens;
    this.figures.exact = true;
    this.figures.prompt = usage.prompt_tokens;
    this.figures.cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  }

  // Takes the server's rate: parts that come together were not generated together, so the page
  // cannot measure it.
  timings(timings) {
    this.figures.rate = timings.predicted_per_second;
  }
}
