// Tests npm's `openai` on /v1/responses of `hearth serve` with the demo model: responses whole,
// streamed and parsed, tools, reasoning, counts and errors.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import OpenAI from "openai";
import {Hearth, limit} from "./hearth.mjs";

const story = "Tell me a story about a fox and a kite.";
const request = [{role: "user", content: `Read the note. ${"The fox has a kite. ".repeat(12)}`}];
const read = {
  type: "function", name: "read", description: "Reads a file.", strict: true,
  parameters: {type: "object", properties: {path: {enum: ["note.txt", "fox.txt"]}},
               required: ["path"], additionalProperties: false},
};
const crew = {type: "namespace", name: "crew", description: "Others.",
              tools: [{type: "function", name: "ping", parameters: null, strict: false}]};
const quiet = {reasoning: {effort: "none"}};
const calling = {...quiet, input: request, tools: [read, crew], tool_choice: "required",
                 parallel_tool_calls: false, max_output_tokens: 200};
let teller;   // tells stories
let caller;   // calls tools, and thinks
let greedy;   // the likeliest answer to `story`

const responses = (to) => new OpenAI({baseURL: `${to.url}/v1`, apiKey: "none",
                                      maxRetries: 0}).responses;
const body = (to, fields) => ({model: to.model, input: story, temperature: 0, ...fields});
const ask = (fields, to = teller) => responses(to).create(body(to, fields));

before(async () => {
  teller = await Hearth.start();
  caller = await Hearth.startCaller();
  greedy = await ask({});
});
after(() => Promise.all([teller?.stop(), caller?.stop()]));

// Returns the items without members that differ from response to response or that the client adds.
function plain(items) {
  return items.map(({id, call_id, parsed_arguments, ...item}) => ({
    ...item, content: item.content?.map(({parsed, ...part}) => part),
  }));
}

// Streams a response. Returns the events and the response that the client makes of them, which must
// equal the last event's.
async function streamed(fields, to) {
  const running = responses(to).stream(body(to, fields));
  const events = [];
  for await (const event of running) events.push(event);
  const response = await running.finalResponse();
  assert.deepEqual(plain(events.at(-1).response.output), plain(response.output));
  assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
  for (const event of events.filter((one) => one.output_index !== undefined)) {
    assert.equal(event.item_id ?? event.item.id, response.output[event.output_index].id);
  }
  return {events, response};
}

const joined = (events, type) => events.filter((event) => event.type === type)
    .map((event) => event.delta).join("");

function rejects(promise, type, fields) {
  return assert.rejects(promise, (error) => {
    assert.ok(error instanceof type, String(error));
    for (const [name, value] of Object.entries(fields)) {
      assert.equal(error[name], value, `${name} of ${error}`);
    }
    assert.match(error.requestID, /./);
    return true;
  });
}

test("a response has items, how it ended and what it used", limit, async () => {
  assert.deepEqual([greedy.object, greedy.status, greedy.model],
                   ["response", "completed", teller.model]);
  assert.deepEqual(greedy.output.map((item) => item.type), ["message"]);
  assert.match(greedy.output_text, /fox/);
  assert.equal(greedy.incomplete_details, null);
  const {input_tokens: input, output_tokens: output, total_tokens: all} = greedy.usage;
  assert.ok(input > 0 && output > 10 && all === input + output);

  const parts = [{type: "input_text", text: story}];
  const same = await ask({input: [{role: "user", content: parts}], store: true,
                          metadata: {a: "b"}});
  assert.equal(same.output_text, greedy.output_text);
  assert.deepEqual([same.store, same.metadata], [false, {a: "b"}]);
  const cut = await ask({max_output_tokens: 5, instructions: "Be brief."});
  assert.deepEqual([cut.status, cut.usage.output_tokens], ["incomplete", 5]);
  assert.deepEqual(cut.incomplete_details, {reason: "max_output_tokens"});
  assert.equal(cut.output[0].status, "incomplete");
});

test("a stream is the same response in pieces", limit, async () => {
  const {events, response} = await streamed({}, teller);
  assert.equal(joined(events, "response.output_text.delta"), greedy.output_text);
  assert.equal(response.output_text, greedy.output_text);
  assert.deepEqual(plain(response.output), plain(greedy.output));
  assert.equal(response.usage.output_tokens, greedy.usage.output_tokens);
  const kinds = events.map((event) => event.type);
  assert.ok(kinds.length > 20);
  assert.deepEqual([...new Set(kinds)], [
    "response.created", "response.in_progress", "response.output_item.added",
    "response.content_part.added", "response.output_text.delta", "response.output_text.done",
    "response.content_part.done", "response.output_item.done", "response.completed"]);

  let last;
  for await (const event of await ask({stream: true, max_output_tokens: 5})) last = event;
  assert.deepEqual([last.type, last.response.status], ["response.incomplete", "incomplete"]);
});

test("structured output is parsed, whole and streamed", limit, async () => {
  const schema = {type: "object", required: ["animal", "legs"], additionalProperties: false,
                  properties: {animal: {enum: ["fox", "owl"]}, legs: {enum: [2, 4]}}};
  const text = {format: {type: "json_schema", name: "answer", strict: true, schema}};
  const {output_parsed: parsed} = await responses(teller).parse(body(teller, {text}));
  assert.deepEqual(Object.keys(parsed), ["animal", "legs"]);
  assert.ok(["fox", "owl"].includes(parsed.animal) && [2, 4].includes(parsed.legs));
  const {response} = await streamed({text}, teller);
  assert.deepEqual(JSON.parse(response.output_text), parsed);
});

test("a call comes whole and as a stream, the same", limit, async () => {
  const whole = await responses(caller).parse(body(caller, calling));
  assert.equal(whole.status, "completed");
  assert.deepEqual(whole.output.map((item) => item.type), ["function_call"]);
  const {events, response} = await streamed(calling, caller);
  assert.deepEqual(plain(response.output), plain(whole.output));
  assert.notEqual(response.output[0].call_id, whole.output[0].call_id);
  assert.equal(joined(events, "response.function_call_arguments.delta"),
               whole.output[0].arguments);

  const named = await responses(caller).parse(
      body(caller, {...calling, tool_choice: {type: "function", name: "read"}}));
  assert.equal(named.output[0].name, "read");
  assert.match(named.output[0].parsed_arguments.path, /^(note|fox)\.txt$/);
  const {output: [other]} = await ask({...calling, tools: [crew]}, caller);
  assert.deepEqual([other.namespace, other.name, JSON.parse(other.arguments)],
                   ["crew", "ping", {}]);
});

test("a loop of tools goes on where it was", limit, async () => {
  const {output} = await ask(calling, caller);
  const input = [...request, ...output, {type: "function_call_output",
                                         call_id: output[0].call_id, output: "A fox."}];
  const next = await ask({...calling, input, tool_choice: "none", max_output_tokens: 20}, caller);
  assert.deepEqual(next.output.map((item) => item.type), ["message"]);
  assert.ok(next.usage.input_tokens_details.cached_tokens >= 64, JSON.stringify(next.usage));
});

test("reasoning is an item, and goes back", limit, async () => {
  const fields = {tools: [read], tool_choice: "required", max_output_tokens: 24,
                  reasoning: {effort: "low", summary: "auto"},
                  include: ["reasoning.encrypted_content"]};
  const whole = await ask(fields, caller);
  assert.deepEqual(whole.output.map((item) => item.type), ["reasoning"]);
  assert.match(whole.output[0].content[0].text, /\w/);
  assert.equal(whole.usage.output_tokens_details.reasoning_tokens, 24);
  const {events, response} = await streamed(fields, caller);
  assert.deepEqual(plain(response.output), plain(whole.output));
  const [thought] = whole.output;
  const {text} = thought.content[0];
  assert.equal(joined(events, "response.reasoning_text.delta"), text);
  assert.equal(joined(events, "response.reasoning_summary_text.delta"), text);
  assert.deepEqual(thought.summary, [{type: "summary_text", text}]);
  assert.match(thought.encrypted_content, /^hearth1\./);
  const [plainly] = (await ask({...fields, reasoning: {effort: "low"}, include: []},
                               caller)).output;
  assert.deepEqual([plainly.summary, plainly.encrypted_content, plainly.content[0].text],
                   [[], null, text]);

  // The history counts the same, whichever parts of the item come back.
  const counted = [];
  for (const kept of [thought, {summary: [], content: thought.content}, {summary: thought.summary},
                      {summary: [], encrypted_content: thought.encrypted_content}]) {
    const items = [{role: "user", content: story}, {...kept, type: "reasoning", id: thought.id},
                   {type: "function_call", call_id: "1", name: "read", arguments: "{}"},
                   {type: "function_call_output", call_id: "1", output: "A fox."}];
    const {input_tokens} = await responses(caller).inputTokens.count(
        {model: caller.model, ...quiet, tools: [read], input: items});
    counted.push(input_tokens);
  }
  assert.ok(counted[0] > 24 && new Set(counted).size === 1, `${counted}`);

  const input = [{role: "user", content: story}, ...whole.output,
                 {role: "assistant", content: "I look."}, {role: "user", content: "Go on."}];
  const next = await ask({...quiet, input, max_output_tokens: 8}, caller);
  assert.deepEqual(next.output.map((item) => item.type), ["message"]);
});

test("what an input counts is what a response uses", limit, async () => {
  for (const [to, fields] of [[teller, {input: story, instructions: "Hm."}],
                              [caller, {...quiet, input: request, tools: [read]}]]) {
    const {input_tokens: tokens} = await responses(to).inputTokens.count(
        {model: to.model, ...fields});
    const {usage} = await ask({...fields, max_output_tokens: 1}, to);
    assert.equal(tokens, usage.input_tokens);
  }
});

test("what cannot be answered says so by status, code and param", limit, async () => {
  const {BadRequestError, NotFoundError} = OpenAI;
  const refused = (fields, code, param, to = teller) =>
    rejects(ask(fields, to), BadRequestError, {status: 400, code, param});
  const image = {role: "user", content: [{type: "input_image", image_url: "http://x/y.png"}]};
  const odd = {...read, name: "odd", parameters: {type: "object",
                                                  properties: {a: {$ref: "http://x/"}}}};
  await rejects(ask({model: "nobody"}), NotFoundError, {status: 404, code: "model_not_found"});
  await refused({previous_response_id: "resp_1"}, "unsupported_parameter",
                "previous_response_id");
  await refused({background: true}, "unsupported_parameter", "background");
  await refused({input: [image]}, "unsupported_parameter", "input[0].content[0].type");
  await refused({max_output_tokens: 0}, "invalid_value", "max_output_tokens");
  await refused({temperature: "hot"}, "invalid_type", "temperature");
  await refused({tools: [read]}, "unsupported_parameter", "tools");
  await refused({tools: [{type: "web_search"}, odd]}, "invalid_schema", "tools[1].parameters",
                caller);
  await refused({text: {format: {type: "json_schema", name: "n",
                                 schema: {properties: {a: {$ref: "http://x/"}}}}}},
                "invalid_schema", "text.format.schema");
  await refused({input: "fox ".repeat(2000)}, "context_length_exceeded", "input");
  await rejects(responses(teller).stream(body(teller, {max_output_tokens: 0})).finalResponse(),
                BadRequestError, {status: 400, param: "max_output_tokens"});
  await rejects(responses(teller).inputTokens.count({model: teller.model}), BadRequestError,
                {code: "missing_required_parameter", param: "input"});
  await rejects(responses(teller).retrieve("resp_1"), NotFoundError, {status: 404});
  const {response} = await responses(caller).create(
      body(caller, {...quiet, tools: [read, {type: "web_search"}], max_output_tokens: 1}))
      .withResponse();
  assert.equal(response.headers.get("x-hearth-ignored"), "tools[1]: web_search");
});

test("a client that leaves a stream frees its place", limit, async () => {
  const running = responses(teller).stream(body(teller));
  running.on("response.output_text.delta", () => running.abort());
  await assert.rejects(running.done(), OpenAI.APIUserAbortError);
  await teller.idle();
  assert.equal((await ask({})).output_text, greedy.output_text);
});
