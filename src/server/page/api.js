// The server's API for the page: its models, and a chat's answer as a stream of events. Errors are
// thrown as `Trouble`: a sentence for people that says what to do.

export class Trouble extends Error {
  // remedy: "retry", "key", "new" or "none". detail: the server's own sentence, if there is one.
  constructor(message, {remedy = "retry", detail = "", status = 0} = {}) {
    super(message);
    this.remedy = remedy;
    this.detail = detail;
    this.status = status;
  }
}

function headers(key) {
  const fields = {"Content-Type": "application/json"};
  if (key) fields.Authorization = `Bearer ${key}`;
  return fields;
}

async function request(path, options) {
  let reply;
  try {
    reply = await fetch(path, {cache: "no-store", credentials: "omit", ...options});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble("The server can’t be reached. Is it still running?");
  }
  if (!reply.ok) throw await troubleOf(reply);
  return reply;
}

async function troubleOf(reply) {
  let error = {};
  try {
    error = (await reply.json()).error || {};
  } catch {
    // A body that is no JSON adds no detail.
  }
  const about = {detail: error.message || "", status: reply.status};
  const wait = Number(reply.headers.get("Retry-After"));
  const later = wait > 0 ? `Try again in ${wait === 1 ? "a second" : `${wait} seconds`}.`
                         : "Try again in a moment.";
  if (error.code === "context_length_exceeded") {
    return new Trouble("This conversation has become longer than the model can read. Start a new " +
                       "chat, or shorten it.", {...about, remedy: "new"});
  }
  switch (reply.status) {
    case 401:
      return new Trouble("This server asks for an API key.", {...about, remedy: "key"});
    case 403:
      return new Trouble("The server takes no messages from this address.", about);
    case 404:
      return new Trouble("The server doesn’t know this model. Reload the page.", about);
    case 408:
      return new Trouble("The server waited too long for the message.", about);
    case 413:
      return new Trouble("The conversation is too large for the server.",
                         {...about, remedy: "new"});
    case 429:
      return new Trouble(`The server is busy. ${later}`, about);
    case 503:
      if (error.code === "loading") {
        return new Trouble(`The model is still loading. ${later}`, about);
      }
      if (error.code === "draining") return new Trouble("The server is shutting down.", about);
      return new Trouble(`The server has too much to do. ${later}`, about);
  }
  if (reply.status >= 500) return new Trouble("The server failed to answer.", about);
  return new Trouble("The server refused the message.", about);
}

// Returns [{id, context, status}]: context is in tokens, 0 where the server does not give it;
// status is "loaded", "loading", "sleeping" or "failed", empty where it is not given.
export async function models(key) {
  const reply = await request("/v1/models", {headers: headers(key)});
  const {data} = await reply.json();
  return data.map(({id, max_model_len: context = 0, status}) => {
    return {id: String(id), context, status: typeof status?.value === "string" ? status.value : ""};
  });
}

// Yields the value of each `data:` line as one event. Comments and other fields are skipped.
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
        if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Yields each part of a delta as an event.
function* readDelta(delta) {
  if (delta.reasoning_content) yield {reasoning: delta.reasoning_content};
  if (delta.content) yield {text: delta.content};
  for (const call of delta.tool_calls ?? []) {
    yield {call: {index: call.index, name: call.function?.name ?? "",
                  arguments: call.function?.arguments ?? ""}};
  }
}

// Yields the events of one answer in the order in which they come: {progress}, {reasoning}, {text},
// {call: {index, name, arguments}}, {finish}, {usage} and {timings}. Reasoning, texts and calls
// come in parts; a call's parts have the same index, and one of them has the name. An error in the
// stream, or its end before the last event, is thrown as Trouble.
export async function* chat(body, key, signal) {
  const reply = await request("/v1/chat/completions", {
    method: "POST",
    headers: headers(key),
    body: JSON.stringify({...body, stream: true, stream_options: {include_usage: true},
                          timings_per_token: true, return_progress: true}),
    signal,
  });
  const lost = "The connection was lost before the answer was complete.";
  try {
    for await (const event of readEvents(reply.body)) {
      if (event === "[DONE]") return;
      const chunk = JSON.parse(event);
      if (chunk.error) {
        throw new Trouble("The server could not finish the answer.", {detail: chunk.error.message});
      }
      if (chunk.prompt_progress) yield {progress: chunk.prompt_progress};
      const choice = chunk.choices && chunk.choices[0];
      if (choice && choice.delta) yield* readDelta(choice.delta);
      if (choice && choice.finish_reason) yield {finish: choice.finish_reason};
      if (chunk.usage) yield {usage: chunk.usage};
      if (chunk.timings) yield {timings: chunk.timings};
    }
  } catch (error) {
    if (error instanceof Trouble || error.name === "AbortError") throw error;
    throw new Trouble(lost);
  }
  throw new Trouble(lost);
}
