// Checks every kind of body and stream event that the server sends against OpenAI's and Anthropic's
// own declarations, which are those of npm's `openai` and `@anthropic-ai/sdk`. A member of another
// type or with another literal is an error. So is a missing or undeclared member, except those in
// the list `known`.

import assert from "node:assert/strict";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {check} from "./checker.mjs";
import {demo, events, Hearth, limit} from "./hearth.mjs";
import {known} from "./known.mjs";

const head = ['import OpenAI from "openai";', 'import Anthropic from "@anthropic-ai/sdk";'];
const openAIError = "{error: OpenAI.ErrorObject}";
// The client asks for base64 on its own and decodes it.
const base64Embeddings = `Omit<OpenAI.CreateEmbeddingResponse, "data"> & {
    data: (Omit<OpenAI.Embedding, "embedding"> & {embedding: string})[]}`;
const chat = {path: "/v1/chat/completions", whole: "OpenAI.ChatCompletion",
              event: "OpenAI.ChatCompletionChunk", error: openAIError};
const text = {path: "/v1/completions", whole: "OpenAI.Completion", event: "OpenAI.Completion",
              error: openAIError};
const responses = {path: "/v1/responses", whole: "OpenAI.Responses.Response",
                   event: "OpenAI.Responses.ResponseStreamEvent", error: openAIError};
const messages = {path: "/v1/messages", whole: "Anthropic.Message",
                  event: "Anthropic.RawMessageStreamEvent", error: "Anthropic.ErrorResponse"};

const values = [];   // {type, value, from}
const counts = {bodies: 0, events: 0};
let teller;   // the demo model, which tells stories and embeds
let caller;   // the demo model behind a template with tools and reasoning
let stub;     // its replies are in its chats

before(async () => {
  teller = await Hearth.start("--embed", demo, "--pooling", "mean");
  caller = await Hearth.startCaller();
  stub = await Hearth.startScripted();
});
after(() => Promise.all([teller?.stop(), caller?.stop(), stub?.stop()]));

function keep(kind, type, value, from) {
  ++counts[kind];
  values.push({type, value, from});
  return value;
}

async function body(type, reply, from, status = 200) {
  const value = await reply.json();
  assert.equal(reply.status, status, `${from}: ${JSON.stringify(value)}`);
  return keep("bodies", type, value, from);
}

const whole = async (api, to, fields) =>
  body(api.whole, await to.post(api.path, fields), `${api.path} ${JSON.stringify(fields)}`);

async function stream(api, to, fields) {
  const asked = {...fields, stream: true};
  const from = `${api.path} ${JSON.stringify(asked)}`;
  const reply = await to.post(api.path, asked);
  assert.equal(reply.status, 200, from);
  const all = [];
  for await (const event of events(reply)) if (event !== "[DONE]") all.push(event);
  for (const event of all) {
    // A ping comes before the declared events; it has only its type.
    if (event.type === "ping") assert.deepEqual(event, {type: "ping"});
    else keep("events", event.error ? api.error : api.event, event, from);
  }
  assert.ok(all.length > 0, from);
  return all;
}

async function both(api, to, fields) {
  const events = await stream(api, to, fields);
  const {stream_options: _, ...others} = fields;
  return {reply: await whole(api, to, others), events};
}

async function refused(api, to, fields, status, more = {}) {
  const {path = api.path, headers} = more;
  return body(api.error, await to.post(path, fields, headers), `${path} refused, ${status}`,
              status);
}

const story = [{role: "user", content: "Tell me a story about a fox and a kite."}];
const says = (script) => [{role: "user", content: `SAY(${script})YAS`}];
const call = (name, given) =>
  `<tool_call>\n${JSON.stringify({name, arguments: given})}\n</tool_call>`;
const turn = `<think>\nWhat is in it?\n</think>\n\nI look.\n${call("read", {path: "a.txt"})}\n` +
             call("ping", {});
const answer = "<think>\nhm\n</think>\n\n12";
const path = {type: "object", properties: {path: {type: "string"}}, required: ["path"],
              additionalProperties: false};
const none = {type: "object", properties: {}, additionalProperties: false};
const odd = {type: "object", properties: {a: {$ref: "http://x/"}}};

test("chats", limit, async () => {
  const tool = (name, parameters) => ({type: "function", function: {name, parameters}});
  const tools = [tool("read", path), tool("ping", none)];
  const usage = {stream_options: {include_usage: true}};
  const shape = {type: "json_schema", json_schema: {name: "n", schema: {type: "integer"}}};
  const reasons = new Set();
  const ask = async (to, fields) => {
    const {reply} = await both(chat, to, fields);
    for (const choice of reply.choices) reasons.add(choice.finish_reason);
    return reply.choices[0].message;
  };
  for (const fields of [{}, usage, {n: 2, ...usage}, {logprobs: true},
                        {logprobs: true, top_logprobs: 2, n: 2}, {stop: ["fox"]},
                        {user: "me", seed: 1, response_format: {type: "json_object"}}]) {
    await ask(teller, {messages: story, max_tokens: 12, ...fields});
  }
  const message = await ask(stub, {messages: says(turn), tools, ...usage});
  assert.deepEqual([message.content, message.reasoning_content, message.tool_calls.length],
                   ["I look.", "What is in it?", 2]);
  for (const fields of [{messages: says(answer), response_format: shape},
                        {messages: says(answer), logprobs: true},
                        {messages: says(call("ping", {})), tools, tool_choice: "required", n: 2},
                        {messages: says(answer), max_tokens: 2}]) {
    await ask(stub, fields);
  }
  assert.deepEqual([...reasons].sort(), ["length", "stop", "tool_calls"]);
  const failing = {messages: says("Hello."), tools, tool_choice: "required"};
  await refused(chat, stub, failing, 500);
  assert.ok((await stream(chat, stub, failing)).at(-1).error);
});

test("texts", limit, async () => {
  for (const fields of [{}, {stream_options: {include_usage: true}}, {logprobs: 0}, {logprobs: 3},
                        {echo: true}, {echo: true, logprobs: 2}, {n: 2, stop: "a"},
                        {prompt: ["Once", "The owl"]}, {echo: true, logprobs: 1, max_tokens: 0}]) {
    const {reply} = await both(text, teller, {prompt: "Once there was", max_tokens: 8, ...fields});
    // Both may be null in a stream, as `known` says.
    assert.ok(reply.usage && reply.choices.every((choice) => choice.finish_reason));
  }
  assert.ok((await stream(text, stub, {prompt: "fail"})).at(-1).error);
});

test("embeddings and models", limit, async () => {
  const input = ["a fox", "a kite"];
  const embed = async (fields, type) => body(type, await teller.post("/v1/embeddings", fields),
                                             `/v1/embeddings ${JSON.stringify(fields)}`);
  const floats = await embed({input, encoding_format: "float"}, "OpenAI.CreateEmbeddingResponse");
  // The numbers of a vector are alike, so the compiler checks only a few.
  for (const one of floats.data) one.embedding.length = 8;
  await embed({input: "a fox", encoding_format: "base64"}, base64Embeddings);
  const list = await body("OpenAI.PageResponse<OpenAI.Model>", await teller.fetch("/v1/models"),
                          "/v1/models");
  assert.ok(list.data.length > 0);
  await body("OpenAI.Model", await teller.fetch(`/v1/models/${teller.model}`), "/v1/models/ID");
});

test("responses", limit, async () => {
  const tool = (name, parameters, strict) => ({type: "function", name, strict, parameters});
  const read = {...tool("read", path, true), description: "Reads a file."};
  const crew = {type: "namespace", name: "crew", description: "Others.",
                tools: [tool("pong", none, false)]};
  const tools = [read, tool("ping", none, false), crew];
  const format = {type: "json_schema", name: "n", strict: true, schema: {type: "integer"}};
  const allowed = {type: "allowed_tools", mode: "auto", tools: [{type: "function", name: "read"}]};
  const carried = ["reasoning.encrypted_content"];
  const kinds = new Set();
  for (const [to, fields] of [
    [teller, {input: story[0].content, max_output_tokens: 12}],
    [teller, {input: story, max_output_tokens: 12, metadata: {a: "b"}, user: "me", store: true,
              instructions: "Be brief.", temperature: 1, top_p: 0.9, truncation: "auto",
              safety_identifier: "s", prompt_cache_key: "k", text: {verbosity: "low"}}],
    [stub, {input: says(turn), tools}],
    [stub, {input: says(turn), tools, include: carried}],
    [stub, {input: says(turn), tools, include: carried,
            reasoning: {effort: "low", summary: "auto"}}],
    [stub, {input: says(call("crew__pong", {})), tools, tool_choice: "required"}],
    [stub, {input: says(call("read", {path: "x"})), tools, tool_choice: allowed,
            parallel_tool_calls: false}],
    [stub, {input: says(call("read", {path: "x"})), tools,
            tool_choice: {type: "function", name: "read"}}],
    [stub, {input: says(answer), text: {format}}],
    [stub, {input: says('{"a": 1}'), text: {format: {type: "json_object"}}}],
    [stub, {input: says(answer), max_output_tokens: 2, reasoning: {summary: "detailed"}}],
    [stub, {input: says("One two three."), max_output_tokens: 2}],
    [caller, {input: story, max_output_tokens: 8, reasoning: {effort: "high"}}],
  ]) {
    for (const event of (await both(responses, to, fields)).events) kinds.add(event.type);
    const {max_output_tokens: _, ...counted} = fields;
    await body("OpenAI.Responses.InputTokens.InputTokenCountResponse",
               await to.post("/v1/responses/input_tokens", counted),
               `/v1/responses/input_tokens ${JSON.stringify(counted)}`);
  }
  const failing = {input: says("Hello."), tools, tool_choice: "required"};
  await refused(responses, stub, failing, 500);
  for (const event of await stream(responses, stub, failing)) kinds.add(event.type);
  assert.deepEqual([...kinds].sort(), [
    "error", "response.completed", "response.content_part.added", "response.content_part.done",
    "response.created", "response.failed", "response.function_call_arguments.delta",
    "response.function_call_arguments.done", "response.in_progress", "response.incomplete",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.output_text.done", "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done", "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done", "response.reasoning_text.delta",
    "response.reasoning_text.done"]);
});

test("messages", limit, async () => {
  const tools = [{name: "read", description: "Reads a file.", input_schema: path},
                 {name: "ping", input_schema: none}];
  const output = {format: {type: "json_schema", schema: {type: "integer"}}};
  const kinds = new Set();
  const reasons = new Set();
  for (const [to, fields] of [
    [teller, {messages: story, max_tokens: 8, system: "Be brief.", metadata: {user_id: "me"}}],
    [stub, {messages: says(turn), tools}],
    [stub, {messages: says(call("ping", {})), tools, tool_choice: {type: "any"}}],
    [stub, {messages: says(answer), output_config: output}],
    [stub, {messages: says("One two three."), stop_sequences: ["two"]}],
    [stub, {messages: says(answer), max_tokens: 2, thinking: {type: "enabled",
                                                              budget_tokens: 1024}}],
    [caller, {messages: story, max_tokens: 8, thinking: {type: "adaptive"}}],
  ]) {
    const {reply, events} = await both(messages, to, {max_tokens: 400, ...fields});
    reasons.add(reply.stop_reason);
    for (const event of events) kinds.add(event.delta?.type ?? event.type);
    const {max_tokens: _, stop_sequences: __, metadata: ___, ...counted} = fields;
    await body("Anthropic.MessageTokensCount",
               await to.post("/v1/messages/count_tokens", counted), "/v1/messages/count_tokens");
  }
  const failing = {messages: says("Hello."), max_tokens: 40, tools, tool_choice: {type: "any"}};
  await refused(messages, stub, failing, 500);
  for (const event of await stream(messages, stub, failing)) kinds.add(event.type);
  assert.deepEqual([...reasons].sort(), ["end_turn", "max_tokens", "stop_sequence", "tool_use"]);
  assert.deepEqual([...kinds].sort(), [
    "content_block_start", "content_block_stop", "error", "input_json_delta", "message_delta",
    "message_start", "message_stop", "ping", "signature_delta", "text_delta", "thinking_delta"]);
});

test("what is refused", limit, async () => {
  for (const [api, fields] of [
    [chat, {messages: story}], [text, {prompt: "x"}], [responses, {input: "x"}],
    [messages, {messages: story, max_tokens: 8}],
  ]) {
    await refused(api, teller, {...fields, model: "nobody"}, 404);
    await refused(api, teller, {...fields, temperature: "hot"}, 400);
    await refused(api, teller, {}, 400);
    await refused(api, teller, fields, 403, {headers: {Origin: "http://example.com"}});
  }
  await refused(chat, stub, {messages: story, tools: [{type: "function", function: {
    name: "odd", strict: true, parameters: odd}}]}, 400);
  await refused(messages, stub, {messages: story, max_tokens: 8, thread: {type: "create"}}, 400);
  await refused({error: openAIError}, teller, {input: []}, 400, {path: "/v1/embeddings"});
  for (const path of ["/v1/models/nobody", "/v1/nothing"]) {
    await body(openAIError, await teller.fetch(path), path, 404);
  }
  await body(openAIError, await teller.fetch(chat.path), `GET ${chat.path}`, 405);
  await body("Anthropic.ErrorResponse", await teller.fetch(messages.path), `GET ${messages.path}`,
             405);
  for (const [prompt, status] of [["throw", 500], ["no memory", 503], ["busy", 429]]) {
    await refused(text, stub, {prompt}, status);
  }

  const folder = mkdtempSync(join(tmpdir(), "hearth-keys-"));
  writeFileSync(join(folder, "keys"), "sesame\n", {mode: 0o600});
  const guarded = await Hearth.start("--api-key-file", join(folder, "keys"), "--max-body", "1K");
  const headers = {Authorization: "Bearer sesame"};
  for (const api of [chat, messages]) {
    await refused(api, guarded, {}, 401);
    // A request that is refused before it was read as HTTP gets the same form for all APIs.
    await refused({...api, error: openAIError}, guarded, {messages: "x".repeat(2000)}, 413,
                  {headers});
  }
  await guarded.stop();
  rmSync(folder, {recursive: true});
});

test("all of these are as declared", limit, (t) => {
  const found = check(head, values);
  const told = [...found].filter(([name]) => !(name in known))
      .map(([name, where]) => `${name}\n    ${where}`);
  assert.ok(told.length === 0, `departures that are not known:\n${told.join("\n")}`);
  assert.deepEqual(Object.keys(known).filter((name) => !found.has(name)), [],
                   "known departures that no reply has");
  const types = new Set(values.map(({type}) => type)).size;
  t.diagnostic(`${counts.bodies} bodies and ${counts.events} events of ${types} declared types, ` +
               `${found.size} known departures`);
});

test("a body that is not as declared is told", limit, () => {
  const model = {id: "x", object: "model", created: 1, owned_by: "hearth"};
  const {owned_by: _, ...less} = model;
  const of = (value) => ({type: "OpenAI.Model", value, from: "a test"});
  const found = check(head, [of(model), of(less), of({...model, more: 1}),
                             of({...model, created: null, object: "m"})]);
  assert.deepEqual([...found.keys()].sort(), [
    "OpenAI.Model.created: Type 'null' is not assignable to type 'number'.",
    `OpenAI.Model.object: Type '"m"' is not assignable to type '"model"'.`,
    "OpenAI: extra Model.more", "OpenAI: missing Model.owned_by"]);
  assert.throws(() => check(head, [{type: "OpenAI.Nothing", value: 1, from: "a test"}]),
                /has no exported member 'Nothing'/);
});
