// Tests npm's `@anthropic-ai/sdk` against `hearth serve` with the demo model: messages whole and as
// streams, tools, reasoning, structured output, counts, and the errors that the client knows.

import assert from "node:assert/strict";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import {betaTool} from "@anthropic-ai/sdk/helpers/beta/json-schema";
import {jsonSchemaOutputFormat} from "@anthropic-ai/sdk/helpers/json-schema";
import {Hearth, limit} from "./hearth.mjs";

const story = [{role: "user", content: "Tell me a story about a fox and a kite."}];
const request = [{role: "user", content: `Read the note. ${"The fox has a kite. ".repeat(12)}`}];
const read = {
  name: "read", description: "Reads a file.",
  input_schema: {type: "object", properties: {path: {enum: ["note.txt", "fox.txt"]}},
                 required: ["path"], additionalProperties: false},
};
const ping = {name: "ping", description: "Says that it is there.",
              input_schema: {type: "object", properties: {}, additionalProperties: false}};
const quiet = {temperature: 0, thinking: {type: "disabled"}};
const calling = {...quiet, messages: request, max_tokens: 200, tools: [read, ping],
                 tool_choice: {type: "any", disable_parallel_tool_use: true}};
let teller;   // tells stories
let caller;   // calls tools, and thinks
let greedy;   // the likeliest answer to `story`

const connect = (to, more = {}) => new Anthropic({baseURL: to.url, apiKey: "none", maxRetries: 0,
                                                  ...more});
const body = (to, fields) => ({model: to.model, max_tokens: 400, messages: story, temperature: 0,
                               ...fields});
const ask = (fields, to = teller) => connect(to).messages.create(body(to, fields));
const stream = (fields, to = teller) => connect(to).messages.stream(body(to, fields));

before(async () => {
  teller = await Hearth.start();
  caller = await Hearth.startCaller();
  greedy = await ask({});
});
after(() => Promise.all([teller?.stop(), caller?.stop()]));

function rejects(promise, type, fields) {
  return assert.rejects(promise, (error) => {
    assert.ok(error instanceof type, String(error));
    const {message, ...others} = fields;
    for (const [name, value] of Object.entries(others)) {
      assert.equal(error[name], value, `${name} of ${error}`);
    }
    if (message) assert.match(error.message, message);
    assert.match(error.error.request_id, /^req_./);
    return true;
  });
}

// Returns a block without its id, which differs from reply to reply.
const plain = ({id, ...block}) => block;

function checkCall(message) {
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.content.length, 1);
  const [call] = message.content;
  assert.equal(call.type, "tool_use");
  assert.match(call.id, /^toolu_[A-Za-z0-9]{24}$/);
  if (call.name === "read") assert.match(call.input.path, /^(note|fox)\.txt$/);
  else assert.deepEqual([call.name, call.input], ["ping", {}]);
  return call;
}

test("a message has text, why it ended and what it used", limit, async () => {
  assert.match(greedy.id, /^msg_./);
  assert.deepEqual([greedy.type, greedy.role, greedy.model], ["message", "assistant",
                                                              teller.model]);
  assert.equal(greedy.content.length, 1);
  assert.match(greedy.content[0].text, /fox/);
  assert.equal(greedy.stop_reason, "end_turn");
  assert.equal(greedy.stop_sequence, null);
  assert.ok(greedy.usage.input_tokens > 0 && greedy.usage.output_tokens > 10);

  const blocks = [{type: "text", text: story[0].content, cache_control: {type: "ephemeral"}}];
  const same = await ask({messages: [{role: "user", content: blocks}]});
  assert.deepEqual(same.content, greedy.content);
  const cut = await ask({max_tokens: 5, system: "Be brief.", metadata: {user_id: "me"}});
  assert.deepEqual([cut.stop_reason, cut.usage.output_tokens], ["max_tokens", 5]);
  const half = greedy.content[0].text.slice(0, 60);
  const rest = await ask({messages: [...story, {role: "assistant", content: half}]});
  assert.equal(rest.stop_reason, "end_turn");
});

test("a stream is the same message in pieces", limit, async () => {
  const running = stream({});
  const texts = [];
  running.on("text", (piece) => texts.push(piece));
  const message = await running.finalMessage();
  assert.ok(texts.length > 10);
  assert.equal(texts.join(""), greedy.content[0].text);
  assert.equal(await running.finalText(), greedy.content[0].text);
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(message.usage.output_tokens, greedy.usage.output_tokens);

  const kinds = [];
  for await (const event of await ask({stream: true, max_tokens: 3})) kinds.push(event.type);
  assert.deepEqual([...new Set(kinds)],
                   ["message_start", "content_block_start", "content_block_delta",
                    "content_block_stop", "message_delta", "message_stop"]);
});

test("text ends before a stop sequence, whole or streamed", limit, async () => {
  const text = greedy.content[0].text;
  const stop = text.slice(40, 47);
  const fields = {stop_sequences: ["never said", stop]};
  for (const message of [await ask(fields), await stream(fields).finalMessage()]) {
    assert.equal(message.content[0].text, text.slice(0, text.indexOf(stop)));
    assert.deepEqual([message.stop_reason, message.stop_sequence], ["stop_sequence", stop]);
  }
});

test("a call comes whole and as a stream, the same", limit, async () => {
  const whole = checkCall(await ask(calling, caller));
  const running = stream(calling, caller);
  let json = "";
  running.on("inputJson", (piece) => { json += piece; });
  const streamed = checkCall(await running.finalMessage());
  assert.deepEqual(plain(streamed), plain(whole));
  assert.deepEqual(JSON.parse(json), whole.input);
  assert.notEqual(streamed.id, whole.id);
  const choice = {type: "tool", name: "ping", disable_parallel_tool_use: true};
  assert.equal(checkCall(await ask({...calling, tool_choice: choice}, caller)).name, "ping");
});

test("a loop of tools goes on where it was", limit, async () => {
  const first = await ask(calling, caller);
  const {id} = checkCall(first);
  const result = {type: "tool_result", tool_use_id: id, content: [{type: "text", text: "A fox."}]};
  const turns = [...request, {role: "assistant", content: first.content},
                 {role: "user", content: [result, {type: "text", text: "Go on."}]}];
  const next = await ask({...calling, messages: turns, tool_choice: {type: "none"},
                          max_tokens: 20}, caller);
  assert.deepEqual(next.content.map((block) => block.type), ["text"]);
  const {usage: {cache_read_input_tokens: cached, input_tokens: others}} = next;
  assert.ok(cached >= 64 && others > 0, JSON.stringify(next.usage));

  // The client first asks for a thread, learns that none is kept, and then sends all messages.
  const paths = [];
  const tool = betaTool({name: "read", description: "Reads a file.",
                         inputSchema: read.input_schema,
                         run: ({path}) => `It is ${paths.push(path)}.`});
  const last = await connect(caller).beta.messages.toolRunner(
      {...body(caller, calling), tools: [tool], max_iterations: 2});
  assert.equal(last.stop_reason, "tool_use");
  assert.ok(paths.length > 1 && paths.every((path) => /^(note|fox)\.txt$/.test(path)));
});

test("reasoning comes as a thinking block, and goes back", limit, async () => {
  const fields = {thinking: {type: "enabled", budget_tokens: 1024}, tools: [read],
                  tool_choice: {type: "any"}, max_tokens: 24};
  const whole = await ask(fields, caller);
  assert.deepEqual(whole.content.map((block) => block.type), ["thinking"]);
  assert.match(whole.content[0].thinking, /\w/);
  assert.match(whole.content[0].signature, /./);
  assert.equal(whole.stop_reason, "max_tokens");
  const running = stream(fields, caller);
  let thought = "";
  running.on("thinking", (piece) => { thought += piece; });
  let signature;
  running.on("signature", (text) => { signature = text; });
  assert.deepEqual((await running.finalMessage()).content, whole.content);
  assert.equal(thought, whole.content[0].thinking);
  assert.equal(signature, whole.content[0].signature);

  const said = [...whole.content, {type: "text", text: "I look."}];
  const turns = [...story, {role: "assistant", content: said}, {role: "user", content: "Go on."}];
  const next = await ask({...quiet, messages: turns, max_tokens: 8}, caller);
  assert.deepEqual(next.content.map((block) => block.type), ["text"]);
});

test("structured output is parsed", limit, async () => {
  const schema = {type: "object", required: ["animal"], additionalProperties: false,
                  properties: {animal: {type: "string", enum: ["fox", "owl"]}}};
  const format = jsonSchemaOutputFormat(schema);
  const parsed = await connect(teller).messages.parse(body(teller, {output_config: {format}}));
  assert.deepEqual(Object.keys(parsed.parsed_output), ["animal"]);
  assert.match(parsed.parsed_output.animal, /^(fox|owl)$/);
  const remote = {type: "json_schema", schema: {properties: {a: {$ref: "http://x/"}}}};
  await rejects(ask({output_config: {format: remote}}), Anthropic.BadRequestError,
                {message: /output_config\.format\.schema\.properties\.a/});
});

test("what a prompt counts is what a message uses", limit, async () => {
  for (const [to, fields] of [[teller, {messages: story, system: [{type: "text", text: "Hm."}]}],
                              [caller, {messages: request, tools: [read], ...quiet}]]) {
    const {temperature, ...counted} = fields;
    const {input_tokens: tokens} = await connect(to).messages.countTokens(
        {model: to.model, ...counted});
    const {usage} = await ask({...fields, max_tokens: 1}, to);
    assert.equal(tokens, usage.input_tokens + usage.cache_read_input_tokens);
  }
});

test("errors are those of the client", limit, async () => {
  const bad = {status: 400, type: "invalid_request_error"};
  const {BadRequestError, NotFoundError} = Anthropic;
  const image = {type: "image", source: {type: "url", url: "http://x/y.png"}};
  await rejects(ask({model: "nobody"}), NotFoundError,
                {status: 404, type: "not_found_error", message: new RegExp(teller.model)});
  await rejects(ask({max_tokens: 0}), BadRequestError, {...bad, message: /max_tokens/});
  await rejects(ask({temperature: 3}), BadRequestError, {...bad, message: /temperature/});
  await rejects(ask({tools: [read]}), BadRequestError, {...bad, message: /tools/});
  await rejects(ask({messages: [{role: "user", content: [image]}]}), BadRequestError,
                {...bad, message: /messages\[0\]\.content\[0\]\.type/});
  await rejects(ask({messages: [{role: "user", content: "fox ".repeat(2000)}]}), BadRequestError,
                {...bad, message: /context/});
  await rejects(stream({max_tokens: 0}).finalMessage(), BadRequestError, bad);
  const odd = {name: "odd", strict: true, input_schema: {type: "object",
                                                         properties: {a: {$ref: "http://x/"}}}};
  await rejects(ask({...calling, tools: [read, odd]}, caller), BadRequestError,
                {...bad, message: /tools\[1\]\.input_schema\.properties\.a/});
  await rejects(connect(teller).messages.countTokens({model: teller.model, messages: []}),
                BadRequestError, {...bad, message: /messages/});
  const search = {type: "web_search_20250305", name: "web_search"};
  const {response} = await connect(caller).messages.create(
      body(caller, {...quiet, tools: [read, search], max_tokens: 1})).withResponse();
  assert.equal(response.headers.get("x-hearth-ignored"), "tools[1]: web_search_20250305");
});

test("a client that leaves a stream frees its place", limit, async () => {
  const running = stream({});
  running.on("text", () => running.abort());
  await assert.rejects(running.done(), Anthropic.APIUserAbortError);
  await teller.idle();
  assert.deepEqual((await ask({})).content, greedy.content);
});

test("keys are asked for, and who comes too often is turned away", limit, async () => {
  const folder = mkdtempSync(join(tmpdir(), "hearth-keys-"));
  writeFileSync(join(folder, "keys"), "sesame\n", {mode: 0o600});
  const guarded = await Hearth.start("--api-key-file", join(folder, "keys"),
                                     "--max-running", "1", "--max-queue", "1");
  const client = (more) => connect(guarded, more).messages;
  const fields = body(guarded, {max_tokens: 1});
  await rejects(client({apiKey: "wrong"}).create(fields), Anthropic.AuthenticationError,
                {status: 401, type: "authentication_error"});
  for (const key of [{apiKey: "sesame"}, {apiKey: null, authToken: "sesame"}]) {
    assert.equal((await client(key).create(fields)).usage.output_tokens, 1);
  }
  const asked = [];
  let refused;
  while (!refused) {
    asked.push(client({apiKey: "sesame"}).create(body(guarded)).catch((error) => {
      refused = error;
    }));
    await guarded.fetch("/live");
  }
  assert.ok(refused instanceof Anthropic.RateLimitError, String(refused));
  assert.deepEqual([refused.status, refused.type], [429, "rate_limit_error"]);
  const told = (await Promise.all(asked)).filter(Boolean);
  for (const message of told) assert.deepEqual(message.content, greedy.content);
  await guarded.stop();
  rmSync(folder, {recursive: true});
});
