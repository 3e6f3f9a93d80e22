// Checks every body, chunk and error of `hearth serve` strictly against its own /openapi.json: ajv
// refuses a schema that it does not fully understand.

import assert from "node:assert/strict";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import {demo, events, Hearth, limit, startHub} from "./hearth.mjs";

const messages = [{role: "user", content: "Tell me a story about a fox and a kite."}];
let server;
let api;
let ajv;
const seen = new Set();   // "METHOD /route status"

before(async () => {
  server = await Hearth.start("--embed", demo, "--pooling", "mean");
  api = await (await server.fetch("/openapi.json")).json();
  ajv = new Ajv.default({strict: true, allowUnionTypes: true, allErrors: true});
  addFormats.default(ajv, ["int64"]);
  // Schemas refer to each other as parts of the whole document; ajv gets only the schemas as a
  // document.
  const schemas = JSON.parse(JSON.stringify(api.components.schemas)
      .replaceAll("#/components/schemas/", "#/$defs/"));
  ajv.addSchema({$id: "hearth", $defs: schemas});
});
after(() => server?.stop());

function follow(node) {
  if (!node.$ref) return node;
  return node.$ref.slice(2).split("/").reduce((at, name) => at[name], api);
}

const validators = new Map();
function check(schema, value, what) {
  const text = JSON.stringify(schema).replaceAll("#/components/schemas/", "hearth#/$defs/");
  if (!validators.has(text)) validators.set(text, ajv.compile(JSON.parse(text)));
  const validate = validators.get(text);
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}\n` +
                             JSON.stringify(value).slice(0, 2000));
}

function routeOf(path) {
  const names = Object.keys(api.paths);
  const plain = names.find((name) => name === path);
  return plain ?? names.find((name) => name.includes("{") && path.startsWith(name.split("{")[0]));
}

// Sends a request and checks the answer against the document. Returns the body, or the chunks of a
// stream.
async function ask(method, path, body, expected = 200, to = server) {
  const reply = body === undefined ? await to.fetch(path, {method})
                                   : await to.post(path, body, {}, method);
  const what = `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}`;
  assert.equal(reply.status, expected, what);
  assert.match(reply.headers.get("x-request-id"), /./, what);
  const [type] = reply.headers.get("content-type").split(";");
  const route = routeOf(path.split("?")[0]);
  const error = {$ref: "#/components/schemas/Error"};
  if (!route) {
    const told = await reply.json();
    check(error, told, what);
    return told;
  }
  const operation = api.paths[route][method.toLowerCase()];
  assert.ok(operation, `${what} is not in the document`);
  const told = operation.responses[expected];
  assert.ok(told, `${what}: status ${expected} is not in the document`);
  seen.add(`${method} ${route} ${expected}`);
  const content = follow(told).content[type];
  assert.ok(content, `${what}: ${type} is not in the document`);
  if (type === "application/x-ndjson") return checkLines(reply, content.schema, what);
  if (type === "text/event-stream") return checkStream(reply, content.schema, what);
  if (type !== "application/json") return reply.text();
  const text = await reply.text();
  const value = JSON.parse(text);
  check(content.schema, value, what);
  if (expected >= 400 && route !== "/health") assert.ok(text.length < 1024, what);
  return value;
}

async function checkLines(reply, schema, what) {
  const lines = (await reply.text()).trimEnd().split("\n").map(JSON.parse);
  for (const line of lines) check(schema, line, what);
  const last = lines.at(-1);
  assert.ok(last.done || last.status === "success" || last.error, what);
  return lines;
}

async function checkStream(reply, schema, what) {
  const chunks = [];
  for await (const event of events(reply)) {
    if (event === "[DONE]") return chunks;
    check(schema, event, what);
    chunks.push(event);
    if (/^(message_stop|response.(completed|incomplete))$/.test(event.type)) return chunks;
  }
  assert.fail(`${what}: no end`);
}

test("the document is of OpenAPI 3.1, and each of its schemas compiles", limit, () => {
  assert.match(api.openapi, /^3\.1\./);
  for (const name of Object.keys(api.components.schemas)) {
    assert.ok(ajv.getSchema(`hearth#/$defs/${name}`), name);
  }
});

test("whatever chat and completions answer is as described", limit, async () => {
  for (const fields of [
    {}, {n: 3}, {logprobs: true}, {logprobs: true, top_logprobs: 20, n: 2}, {stop: ["fox"]},
    {temperature: 0, top_k: 5, min_p: 0.1, top_p: 0.9, repetition_penalty: 1.1},
    {seed: -1, frequency_penalty: 1, presence_penalty: -1, logit_bias: {"5": 2}, user: "me"},
    {stop: null, n: null, logprobs: null, max_tokens: null, stream_options: null, tools: null},
    {max_completion_tokens: 3, response_format: {type: "text"}, unknown_field: {a: [1]}},
    {max_tokens: 9, response_format: {type: "json_schema", json_schema: {name: "x", schema: {}}}},
    {max_tokens: 9, structured_outputs: {regex: "[a-z]{3}"}},
    {chat_template_kwargs: {enable_thinking: false}},
  ]) {
    await ask("POST", "/v1/chat/completions", {max_tokens: 12, messages, ...fields});
    const stream = {max_tokens: 12, messages, ...fields, stream: true};
    const bare = await ask("POST", "/v1/chat/completions", {...stream, stream_options: null});
    assert.ok(bare.every((chunk) => chunk.choices.length > 0));
    const counted = await ask("POST", "/v1/chat/completions",
                              {...stream, stream_options: {include_usage: true},
                               timings_per_token: true});
    assert.ok(counted.at(-1).usage.total_tokens > 0);
    assert.ok(counted.at(-1).timings.predicted_n > 0);
  }
  const told = await ask("POST", "/v1/chat/completions",
                         {max_tokens: 2, messages, stream: true, return_progress: true});
  const {total, processed, cache} = told.find((chunk) => chunk.prompt_progress).prompt_progress;
  assert.ok(cache <= processed && processed <= total && total > 0);
  for (const fields of [
    {prompt: "Once"}, {prompt: ["Once", "The owl"], n: 2}, {prompt: [5, 6]}, {prompt: [[5], [6]]},
    {prompt: "Once", echo: true}, {prompt: "Once", logprobs: 0}, {prompt: "Once", logprobs: 5},
    {prompt: "Once", stop: "a", ignore_eos: true}, {prompt: "Once", model: server.model},
  ]) {
    const timed = {max_tokens: 12, ...fields, timings_per_token: true};
    assert.ok((await ask("POST", "/v1/completions", timed)).timings.predicted_n > 0);
    await ask("POST", "/v1/completions", {max_tokens: 12, ...fields, stream: true,
                                          stream_options: {include_usage: true}});
  }
});

test("so are turns with calls, and their histories", limit, async () => {
  const caller = await Hearth.startCaller();
  const tools = [{type: "function", function: {name: "ping", strict: true, parameters: {
    type: "object", properties: {a: {enum: [1]}}, required: ["a"], additionalProperties: false}}}];
  const body = {messages, tools, tool_choice: "required", reasoning_effort: "none",
                parallel_tool_calls: false, max_tokens: 200};
  const called = await ask("POST", "/v1/chat/completions", body, 200, caller);
  const {message} = called.choices[0];
  assert.equal(message.tool_calls.length, 1, JSON.stringify(called));
  await ask("POST", "/v1/chat/completions", {...body, stream: true}, 200, caller);
  await ask("POST", "/v1/chat/completions", {...body, max_tokens: 9, tool_choice: "auto",
                                             reasoning_effort: null}, 200, caller);
  const result = {role: "tool", tool_call_id: message.tool_calls[0].id, content: "pong"};
  const history = {...body, messages: [...messages, message, result], tool_choice: "auto",
                   max_tokens: 9};
  check({$ref: "#/components/schemas/ChatRequest"}, history, "a history");
  await ask("POST", "/v1/chat/completions", history, 200, caller);
  await ask("POST", "/apply-template", {messages: history.messages, tools}, 200, caller);
  for (const choice of ["some", {type: "function", name: "x"}, {type: "custom"}]) {
    await ask("POST", "/v1/chat/completions", {...body, tool_choice: choice}, 400, caller);
  }
  await caller.stop();
});

test("so is what Anthropic's API answers", limit, async () => {
  const caller = await Hearth.startCaller();
  const body = {messages, max_tokens: 12, thinking: {type: "disabled"}};
  const tools = [{name: "ping", strict: true, input_schema: {
    type: "object", properties: {a: {enum: [1]}}, required: ["a"], additionalProperties: false}}];
  const once = {disable_parallel_tool_use: true};
  const called = {...body, max_tokens: 200, tools,
                  tool_choice: {type: "tool", name: "ping", ...once}};
  const search = {type: "web_search_20250305", name: "web_search"};
  const loose = {name: "loose", input_schema: {type: "object",
                                               properties: {a: {$ref: "http://x/"}}}};
  const schema = {type: "object", properties: {a: {enum: [1]}}, required: ["a"]};
  for (const asked of [
    body, {...body, system: "Be brief.", thinking: {type: "enabled"}},
    {...body, stop_sequences: ["a"]}, called,
    {...called, tool_choice: {type: "any", ...once}},
    {...body, tools: [...tools, loose, search], tool_choice: {type: "auto"}},
    {...body, max_tokens: 40, output_config: {effort: "low", format: {type: "json_schema",
                                                                      schema}}},
    {...body, system: [{type: "text", text: "Hm."}], temperature: 1, top_p: 0.9, top_k: 5,
     metadata: {user_id: "me"}, output_format: null},
  ]) {
    check({$ref: "#/components/schemas/MessagesRequest"}, asked, "a request");
    const whole = await ask("POST", "/v1/messages", asked, 200, caller);
    assert.equal(whole.type, "message");
    const streamed = await ask("POST", "/v1/messages?beta=true", {...asked, stream: true}, 200,
                               caller);
    assert.deepEqual(streamed.map((event) => event.type).slice(0, 2), ["message_start", "ping"]);
  }
  const told = await ask("POST", "/v1/messages", {...body, stream: true, return_progress: true},
                         200, caller);
  assert.ok(told.some((event) => event.type === "ping" && event.prompt_progress?.total > 0));
  const {content, stop_reason: reason} = await ask("POST", "/v1/messages", called, 200, caller);
  assert.equal(reason, "tool_use");
  const call = content.at(-1);
  assert.deepEqual([call.name, call.input], ["ping", {a: 1}]);
  const result = {type: "tool_result", tool_use_id: call.id, content: "pong"};
  const history = [...messages, {role: "assistant", content}, {role: "user", content: [result]}];
  await ask("POST", "/v1/messages", {...body, tools, messages: history}, 200, caller);
  for (const fields of [{max_tokens: 0}, {thread: {type: "create"}}, {stop_sequences: "a"},
                        {tools: [{...loose, strict: true}]}]) {
    await ask("POST", "/v1/messages", {...body, ...fields}, 400, caller);
    await ask("POST", "/v1/messages", {...body, ...fields, stream: true}, 400, caller);
  }
  await ask("POST", "/v1/messages", {...body, model: "nobody"}, 404, caller);
  await caller.stop();
});

test("so are responses", limit, async () => {
  const caller = await Hearth.startCaller();
  const body = {input: messages[0].content, max_output_tokens: 12, reasoning: {effort: "none"}};
  const ping = {type: "function", name: "ping", strict: true, parameters: {
    type: "object", properties: {a: {enum: [1]}}, required: ["a"], additionalProperties: false}};
  const loose = {type: "function", name: "loose", strict: false, parameters: {
    type: "object", properties: {a: {$ref: "http://x/"}}}};
  const crew = {type: "namespace", name: "crew", description: "Others.", tools: [ping]};
  const called = {...body, tools: [ping], tool_choice: "required", parallel_tool_calls: false,
                  max_output_tokens: 200};
  const format = {type: "json_schema", name: "n", strict: true, schema: ping.parameters};
  const allowed = {type: "allowed_tools", mode: "required", tools: [{type: "function",
                                                                     name: "ping"}]};
  for (const asked of [
    body, {...body, reasoning: {effort: "max", summary: "auto"}, instructions: "Be brief."},
    called, {...called, tools: [crew]}, {...called, tool_choice: allowed},
    {...called, tool_choice: {type: "function", name: "ping"}, tools: [ping, loose]},
    {...body, tools: [ping, loose, {type: "web_search"}], include: [], truncation: "auto"},
    {...body, max_output_tokens: 40, text: {format, verbosity: "low"}},
    {...body, reasoning: {effort: "low", summary: "detailed"},
     include: ["reasoning.encrypted_content"]},
    {...body, metadata: {a: "b"}, user: "me", safety_identifier: "s", prompt_cache_key: "k",
     store: true, temperature: 1, top_p: 0.9, seed: 1, stop: ["a"], top_k: 5, min_p: 0.1},
  ]) {
    check({$ref: "#/components/schemas/ResponsesRequest"}, asked, "a request");
    const whole = await ask("POST", "/v1/responses", asked, 200, caller);
    const streamed = await ask("POST", "/v1/responses", {...asked, stream: true}, 200, caller);
    assert.deepEqual(streamed.map((event) => event.sequence_number), [...streamed.keys()]);
    assert.equal(streamed.at(-1).type, `response.${streamed.at(-1).response.status}`);
    const counted = await ask("POST", "/v1/responses/input_tokens", asked, 200, caller);
    assert.equal(counted.input_tokens, whole.usage.input_tokens);
  }
  const told = await ask("POST", "/v1/responses", {...body, stream: true, return_progress: true},
                         200, caller);
  assert.deepEqual(told.map((event) => event.sequence_number), [...told.keys()]);
  assert.ok(told.find((event) => event.type === "response.prompt_progress")
    .prompt_progress.total > 0);
  const {output} = await ask("POST", "/v1/responses", called, 200, caller);
  assert.deepEqual(output.map((item) => [item.type, item.name]), [["function_call", "ping"]]);
  const result = {type: "function_call_output", call_id: output[0].call_id, output: "pong"};
  const history = {...called, input: [...messages, ...output, result], tool_choice: "none"};
  check({$ref: "#/components/schemas/ResponsesRequest"}, history, "a history");
  await ask("POST", "/v1/responses", {...history, max_output_tokens: 9}, 200, caller);
  for (const fields of [
    {input: []}, {previous_response_id: "resp_1"}, {max_output_tokens: 0},
    {tools: [{...loose, strict: true}]}, {tool_choice: {type: "custom"}}, {background: true},
    {input: [{role: "user", content: [{type: "input_image", image_url: "x".repeat(5000)}]}]},
  ]) {
    await ask("POST", "/v1/responses", {...body, ...fields}, 400, caller);
    await ask("POST", "/v1/responses", {...body, ...fields, stream: true}, 400, caller);
    if (fields.input) await ask("POST", "/v1/responses/input_tokens", fields, 400, caller);
  }
  for (const route of ["/v1/responses", "/v1/responses/input_tokens"]) {
    const {error} = await ask("POST", route, {...body, model: "nobody"}, 404, caller);
    assert.equal(error.code, "model_not_found");
  }
  await caller.stop();
});

test("so are ranks", limit, async () => {
  const reranker = await Hearth.startReranker();
  const documents = ["a kite", "a fox"];
  for (const asked of [
    {documents}, {documents: documents.map((text) => ({text})), top_n: 1, raw_scores: true},
    {documents, return_documents: false, max_tokens_per_doc: 4, truncate: true, model: null},
    {texts: documents}, {texts: documents, return_text: true, truncation_direction: "right"},
  ]) {
    const body = {query: "a fox", ...asked};
    check({$ref: "#/components/schemas/RerankRequest"}, body, "a request");
    for (const route of ["/v1/rerank", "/rerank"]) await ask("POST", route, body, 200, reranker);
    if (asked.documents) await ask("POST", "/v2/rerank", body, 200, reranker);
  }
  for (const route of ["/v1/rerank", "/v2/rerank", "/rerank"]) {
    for (const body of [{}, {query: "a"}, {query: "", documents}, {query: "a", documents: []},
                        {query: "a", documents, top_n: 0}, {query: "a", documents: [5]}]) {
      await ask("POST", route, body, 400, reranker);
    }
    await ask("POST", route, {query: "a", documents, model: "nobody"}, 404, reranker);
    await ask("POST", route, {query: "a", documents}, 404);
  }
  await reranker.stop();
});

test("so is all of ollama's API", limit, async () => {
  for (const fields of [
    {}, {options: {num_predict: 5, stop: ["fox"], seed: -1, num_ctx: 16, num_gpu: 1}},
    {logprobs: true, top_logprobs: 2}, {format: "json"}, {format: {enum: ["a", "b"]}},
    {think: false, keep_alive: "5m"}, {messages: [], prompt: ""}, {model: "demo:latest"},
  ]) {
    for (const stream of [true, false]) {
      const body = {options: {num_predict: 12}, stream, messages, prompt: "Once", ...fields};
      check({$ref: "#/components/schemas/OllamaChatRequest"}, body, "a request");
      check({$ref: "#/components/schemas/OllamaGenerateRequest"}, body, "a request");
      await ask("POST", "/api/chat", body);
      await ask("POST", "/api/generate", body);
    }
  }
  await ask("POST", "/api/generate", {prompt: "Once", raw: true, options: {num_predict: 5}});
  for (const input of ["a fox", ["a fox", "an owl"], [], ""]) {
    await ask("POST", "/api/embed", {input});
  }
  for (const prompt of ["a fox", ""]) await ask("POST", "/api/embeddings", {prompt});
  for (const {name} of (await ask("GET", "/api/tags")).models) {
    await ask("POST", "/api/show", {model: name});
  }
  await ask("GET", "/api/ps");
  await ask("GET", "/api/version");
  await ask("POST", "/api/pull", {model: "a"}, 403);
  await ask("DELETE", "/api/delete", undefined, 403);
  for (const [route, body] of Object.entries({
    chat: {messages: 5}, generate: {prompt: "a", suffix: "b"}, embed: {}, embeddings: {prompt: 5},
    show: {},
  })) {
    await ask("POST", `/api/${route}`, body, 400);
    const nobody = {messages, prompt: "a", input: "a", model: "x".repeat(5000)};
    await ask("POST", `/api/${route}`, nobody, 404);
  }
});

test("so are models that clients get and remove", limit, async () => {
  const home = mkdtempSync(join(tmpdir(), "hearth-stock-"));
  const {hub, endpoint} = await startHub(`m-Q4_0.gguf=${demo}`);
  const stock = await Hearth.startStock(home, endpoint);
  try {
    const model = "org/model:Q4_0";
    check({$ref: "#/components/schemas/OllamaPullRequest"}, {model, stream: false}, "a request");
    await ask("POST", "/api/pull", {model}, 200, stock);
    await ask("POST", "/api/pull", {model, stream: false}, 200, stock);
    await ask("POST", "/api/pull", {model: "a"}, 200, stock);
    await ask("POST", "/api/pull", {model: "a", stream: false}, 400, stock);
    await ask("DELETE", "/api/delete", {model}, 200, stock);
    await ask("DELETE", "/api/delete", {model}, 404, stock);
  } finally {
    await stock.stop();
    hub.stdin.end();
    rmSync(home, {recursive: true});
  }
});

test("so is every other route", limit, async () => {
  const {tokens, count} = await ask("POST", "/tokenize", {content: "A fox, a kité and 🦊."});
  assert.equal(tokens.length, count);
  const {content} = await ask("POST", "/detokenize", {tokens});
  assert.equal(content, "A fox, a kité and 🦊.");
  const {prompt} = await ask("POST", "/apply-template", {messages});
  assert.ok(prompt.includes(messages[0].content) && prompt.length > messages[0].content.length);
  const counted = await ask("POST", "/v1/messages/count_tokens", {system: "Be brief.", messages});
  assert.ok(counted.input_tokens > 10);
  for (const encoding_format of ["float", "base64"]) {
    const {data} = await ask("POST", "/v1/embeddings", {input: ["a fox", tokens], encoding_format});
    assert.equal(data.length, 2);
  }
  const list = await ask("GET", "/v1/models");
  assert.deepEqual(await ask("GET", `/v1/models/${list.data[0].id}`), list.data[0]);
  assert.deepEqual(await ask("GET", "/health"), {status: "ok"});
  await ask("GET", "/live");
  assert.match((await ask("GET", "/version")).version, /^\d+\.\d+/);
  await ask("GET", "/v1/plan");
  assert.equal((await ask("GET", "/props")).model_alias, list.data[0].id);
  await ask("POST", "/models/load", {model: list.data[0].id});
  await ask("POST", "/models/unload", {model: list.data[0].id}, 400);   // it is the only model
  await ask("GET", "/openapi.json");
  assert.match(await ask("GET", "/"), /^<!doctype html>/);
  assert.match(await ask("GET", "/metrics"), /^# (HELP|TYPE) hearth_/);
});

test("so are models that are loaded when they are asked for", limit, async () => {
  const several = await Hearth.start("--ttl", "1000");
  try {
    const [model] = (await ask("GET", "/v1/models", undefined, 200, several)).data;
    assert.equal(model.status.value, "loaded");
    await ask("POST", "/models/unload", {model: model.id}, 200, several);
    await ask("GET", `/props?model=${model.id}`, undefined, 200, several);
    await ask("GET", "/api/tags", undefined, 200, several);
    await ask("GET", "/api/ps", undefined, 200, several);
    await ask("POST", "/models/load", {model: model.id}, 200, several);
    await ask("POST", "/v1/chat/completions", {model: model.id, messages, max_tokens: 3}, 200,
              several);
    await ask("POST", "/v1/chat/completions", {model: "other", messages}, 404, several);
    assert.match(await ask("GET", "/metrics", undefined, 200, several), /model_name="/);
  } finally {
    await several.stop();
  }
});

test("so are errors, each below a kilobyte", limit, async () => {
  const chat = (fields) => ({messages, ...fields});
  const long = "x".repeat(5000);
  for (const body of [
    {}, [], chat({messages: long}), chat({messages: [{role: long, content: ""}]}),
    chat({temperature: long}), chat({tools: [{type: "function"}]}), chat({n: 17}),
    chat({stop: Array(17).fill("a")}), chat({logit_bias: {[long]: 1}}), chat({top_logprobs: 5}),
    chat({messages: [{role: "user", content: "fox ".repeat(3000)}]}), chat({stream: "yes"}),
    chat({logprobs: true, top_logprobs: 21}), chat({max_tokens: 0}), chat({seed: 0.5}),
    chat({messages: [{role: "user", content: [{type: "image_url", image_url: {url: long}}]}]}),
    chat({audio: {voice: "a"}}), chat({prediction: {type: "content", content: "a"}}),
  ]) {
    await ask("POST", "/v1/chat/completions", body, 400);
  }
  for (const body of [{}, {prompt: 5}, {prompt: "a", suffix: "b"}, {prompt: [99999999]},
                      {prompt: "a", echo: 1}]) {
    await ask("POST", "/v1/completions", body, 400);
  }
  for (const route of ["/v1/chat/completions", "/v1/completions"]) {
    const body = {messages, prompt: "Once", model: long};
    const {error} = await ask("POST", route, body, 404);
    assert.equal(error.code, "model_not_found");
  }
  for (const body of [{}, {input: ""}, {input: ["a", 5]}, {input: "a", dimensions: 0},
                      {input: "a", encoding_format: long}, {input: long}]) {
    await ask("POST", "/v1/embeddings", body, 400);
  }
  const picture = {role: "user", content: [{type: "image", source: {type: "url", url: long}}]};
  for (const body of [{}, {messages: [picture]}, {messages, thinking: {type: long}}]) {
    await ask("POST", "/v1/messages/count_tokens", body, 400);
  }
  await ask("POST", "/v1/messages/count_tokens", {messages, model: long}, 404);
  await ask("POST", "/tokenize", {content: 5}, 400);
  await ask("POST", "/detokenize", {tokens: [-1]}, 400);
  await ask("POST", "/apply-template", {messages: 5}, 400);
  await ask("GET", "/v1/models/nobody", undefined, 404);
  await ask("GET", "/nowhere", undefined, 404);
  const broken = await server.fetch("/v1/chat/completions", {method: "POST", body: "{\"a\":"});
  assert.equal(broken.status, 400);
  check({$ref: "#/components/schemas/Error"}, await broken.json(), "broken JSON");
  const method = await server.fetch("/v1/chat/completions");
  assert.equal(method.status, 405);
  assert.equal(method.headers.get("allow"), "POST");
  check({$ref: "#/components/schemas/Error"}, await method.json(), "GET of a POST");
  const large = await server.fetch("/tokenize", {method: "POST", body: " ".repeat(9 << 20)})
      .then((reply) => reply.status, () => 413);   // cut off while the body was being sent
  assert.equal(large, 413);
});

test("HEAD has the head of GET, and nothing is left out", limit, async () => {
  for (const [route, operations] of Object.entries(api.paths)) {
    const path = route.replace("{id}", server.model);
    if (operations.get) {
      const [get, head] = [await server.fetch(path), await server.fetch(path, {method: "HEAD"})];
      assert.equal(head.status, get.status, path);
      assert.equal(head.headers.get("content-type"), get.headers.get("content-type"), path);
      assert.equal((await head.text()).length, 0, path);
      await get.text();
    }
    for (const method of Object.keys(operations)) {
      const status = operations[method].responses[200] ? 200 : 403;   // some are always refused
      const asked = `${method.toUpperCase()} ${route} ${status}`;
      assert.ok(seen.has(asked), `${asked} was not seen`);
    }
  }
});
