// Tests npm's `openai` with tools against `hearth serve`. The demo model runs behind a chat
// template that shows calls. It never learnt to call anything, so the requests ask for calls and
// the grammar makes them.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import OpenAI from "openai";
import {Hearth, limit} from "./hearth.mjs";

const read = {type: "function", function: {
  name: "read", description: "Reads a file.",
  parameters: {type: "object", properties: {path: {enum: ["note.txt", "fox.txt"]}},
               required: ["path"], additionalProperties: false},
}};
const ping = {type: "function", function: {name: "ping", description: "Says that it is there."}};
const messages = [{role: "user", content: "Read the note."}];
const fields = {messages, tools: [read, ping], tool_choice: "required", reasoning_effort: "none",
                parallel_tool_calls: false, temperature: 0, max_tokens: 200};
let server;
let client;
const chat = (more, options) => client.chat.completions.create(
    {model: server.model, ...fields, ...more}, options);

before(async () => {
  server = await Hearth.startCaller();
  client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0});
});
after(() => server?.stop());

function checkCall(choice) {
  assert.equal(choice.finish_reason, "tool_calls");
  const [call, ...more] = choice.message.tool_calls;
  assert.equal(more.length, 0);
  assert.match(call.id, /^call_[A-Za-z0-9]{24}$/);
  const given = JSON.parse(call.function.arguments);
  if (call.function.name === "read") assert.match(given.path, /^(note|fox)\.txt$/);
  else assert.deepEqual([call.function.name, given], ["ping", {}]);
  return call;
}

test("a call comes whole and as a stream, the same", limit, async () => {
  const whole = await chat({});
  const call = checkCall(whole.choices[0]);
  assert.equal(whole.choices[0].message.content, null);
  const stream = client.chat.completions.stream({model: server.model, ...fields});
  const streamed = checkCall((await stream.finalChatCompletion()).choices[0]);
  assert.deepEqual(streamed.function.name, call.function.name);
  assert.deepEqual(streamed.function.arguments, call.function.arguments);
});

test("a named tool is called, and some among all", limit, async () => {
  const named = await chat({tool_choice: {type: "function", function: {name: "ping"}}});
  assert.equal(checkCall(named.choices[0]).function.name, "ping");
  const allowed = {mode: "required", tools: [{type: "function", function: {name: "read"}}]};
  const some = await chat({tool_choice: {type: "allowed_tools", allowed_tools: allowed}, n: 2});
  for (const choice of some.choices) assert.equal(checkCall(choice).function.name, "read");
});

test("what a tool gave goes back, and the prompt goes on", limit, async () => {
  const {message} = (await chat({})).choices[0];
  const result = {role: "tool", tool_call_id: message.tool_calls[0].id, content: "A fox."};
  const next = await chat({messages: [...messages, message, result], tool_choice: "none",
                           max_tokens: 20});
  assert.equal(next.choices[0].message.tool_calls, undefined);
  assert.ok(next.choices[0].message.content.length > 0);
});

test("schemas that cannot be held are refused or told", limit, async () => {
  const odd = (strict) => ({type: "function", function: {name: "odd", strict, parameters: {
    type: "object", properties: {a: {$ref: "http://x/"}}}}});
  await assert.rejects(chat({tools: [read, odd(true)]}), (error) => {
    assert.equal(error.status, 400);
    assert.equal(error.code, "invalid_schema");
    assert.equal(error.param, "tools[1].function.parameters");
    return true;
  });
  const {response} = await chat({tools: [read, odd(false)]}).withResponse();
  assert.match(response.headers.get("x-hearth-relaxed"), /^tools\[1\]\.function\.parameters/);
  await assert.rejects(chat({tools: []}), (error) => error.param === "tool_choice");
});
