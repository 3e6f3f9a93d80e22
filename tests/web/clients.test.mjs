// Tests npm's `openai` against `hearth serve` with the demo model: every part of the two routes
// that the client knows, its errors, and its disconnects and refusals.

import assert from "node:assert/strict";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import OpenAI from "openai";
import {demo, Hearth, limit} from "./hearth.mjs";

const messages = [{role: "user", content: "Tell me a story about a fox and a kite."}];
let server;
let client;
let greedy;   // the likeliest answer to `messages`

const connect = (to, more = {}) => new OpenAI({baseURL: `${to.url}/v1`, apiKey: "none",
                                               maxRetries: 0, ...more});
const chat = (fields, options) => client.chat.completions.create(
    {model: server.model, messages, temperature: 0, ...fields}, options);
const complete = (fields) => client.completions.create({model: server.model, temperature: 0,
                                                        ...fields});

before(async () => {
  server = await Hearth.start();
  client = connect(server);
  greedy = await chat({});
});
after(() => server?.stop());

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

// Returns the text of a choice from the chunks of a stream.
function joined(chunks, index = 0) {
  return chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index)
      .map((choice) => choice.delta?.content ?? choice.text ?? "").join("");
}

function rejects(promise, expected) {
  return assert.rejects(promise, (error) => {
    const {message, ...fields} = expected;
    for (const [name, value] of Object.entries(fields)) {
      assert.equal(error[name], value, `${name} of ${error}`);
    }
    if (message) assert.match(error.message, message);
    return true;
  });
}

test("the list of models has the one that is served", limit, async () => {
  const list = await client.models.list();
  assert.deepEqual(list.data.map((model) => model.id), [server.model]);
  assert.deepEqual(await client.models.retrieve(server.model), list.data[0]);
  await rejects(client.models.retrieve("nobody"), {status: 404, code: "model_not_found"});
});

test("chat gives a message, why it ended and what it used", limit, async () => {
  const [choice] = greedy.choices;
  assert.equal(choice.message.role, "assistant");
  assert.match(choice.message.content, /fox/);
  assert.equal(choice.message.refusal, null);
  assert.equal(choice.logprobs, null);
  assert.ok(["stop", "length"].includes(choice.finish_reason));
  const {prompt_tokens: prompt, completion_tokens: generated, total_tokens: all} = greedy.usage;
  assert.ok(prompt > 0 && generated > 0 && all === prompt + generated);
  assert.equal(greedy.model, server.model);
  assert.match(greedy.system_fingerprint, /./);
  assert.match(greedy._request_id, /./);
});

test("the beginning that two prompts share is computed once", limit, async () => {
  const long = [{role: "user", content: "Once upon a time there was a fox. ".repeat(20)}];
  const ask = () => chat({messages: long, max_tokens: 1});
  await ask();
  const {usage} = await ask();
  assert.ok(usage.prompt_tokens_details.cached_tokens >= 64, JSON.stringify(usage));
});

test("a stream is the same text in pieces: role first, usage last", limit, async () => {
  const chunks = await collect(await chat({stream: true, stream_options: {include_usage: true}}));
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.equal(joined(chunks), greedy.choices[0].message.content);
  const last = chunks.pop();
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.completion_tokens, greedy.usage.completion_tokens);
  assert.ok(chunks.every((chunk) => !chunk.usage && chunk.choices.length === 1));
  const ends = chunks.map((chunk) => chunk.choices[0].finish_reason).filter(Boolean);
  assert.deepEqual(ends, [greedy.choices[0].finish_reason]);
  assert.ok(chunks.length > 10);

  const bare = await collect(await chat({stream: true}));
  assert.ok(bare.every((chunk) => !chunk.usage && chunk.choices.length === 1));
  const helper = client.chat.completions.stream({model: server.model, messages, temperature: 0});
  assert.equal(await helper.finalContent(), greedy.choices[0].message.content);
});

test("text ends before a stop string, whole or streamed", limit, async () => {
  const text = greedy.choices[0].message.content;
  const stop = text.slice(40, 47);
  const expected = text.slice(0, text.indexOf(stop));
  for (const given of [stop, [stop], ["never said", stop]]) {
    const {choices: [choice]} = await chat({stop: given});
    assert.equal(choice.message.content, expected);
    assert.equal(choice.finish_reason, "stop");
    assert.equal(joined(await collect(await chat({stop: given, stream: true}))), expected);
  }
});

test("max_tokens and max_completion_tokens end an answer", limit, async () => {
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const reply = await chat({[name]: 5});
    assert.equal(reply.usage.completion_tokens, 5);
    assert.equal(reply.choices[0].finish_reason, "length");
    assert.ok(greedy.choices[0].message.content.startsWith(reply.choices[0].message.content));
  }
});

test("log-probabilities are those of the tokens whose text is given", limit, async () => {
  const {choices: [choice]} = await chat({logprobs: true, top_logprobs: 4, max_tokens: 24});
  const tokens = choice.logprobs.content;
  assert.equal(tokens.length, 24);
  const bytes = Buffer.concat(tokens.map((token) => Buffer.from(token.bytes)));
  assert.equal(bytes.toString(), choice.message.content);
  for (const token of tokens) {
    assert.equal(token.top_logprobs.length, 4);
    assert.deepEqual(token.top_logprobs.map((top) => top.logprob),
                     token.top_logprobs.map((top) => top.logprob).sort((a, b) => b - a));
    assert.equal(token.top_logprobs[0].token, token.token);   // the likeliest was taken
    assert.equal(token.top_logprobs[0].logprob, token.logprob);
    assert.ok(token.logprob <= 0);
  }

  const streamed = await collect(await chat({logprobs: true, top_logprobs: 4, max_tokens: 24,
                                             stream: true}));
  const pieces = streamed.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
  assert.deepEqual(pieces, tokens);

  // The stop string is a token in itself, so the tokens before it come, and no more.
  const starts = tokens.map((_, index) => tokens.slice(0, index).map((t) => t.token).join(""));
  const at = tokens.findIndex((token, index) => index > 4 &&
      choice.message.content.indexOf(token.token) === starts[index].length);
  const {choices: [short]} = await chat({logprobs: true, stop: tokens[at].token});
  assert.equal(short.message.content, starts[at]);
  assert.deepEqual(short.logprobs.content.map((token) => token.token),
                   tokens.slice(0, at).map((token) => token.token));
});

test("n choices are sampled with seeds one after the other", limit, async () => {
  const sampled = {temperature: 1, seed: 7, max_tokens: 20};
  const many = await chat({...sampled, n: 3});
  assert.deepEqual(many.choices.map((choice) => choice.index), [0, 1, 2]);
  const texts = many.choices.map((choice) => choice.message.content);
  for (const index of [0, 1, 2]) {
    const one = await chat({...sampled, seed: 7 + index});
    assert.equal(one.choices[0].message.content, texts[index]);
    assert.equal(one.system_fingerprint, many.system_fingerprint);
  }
  assert.ok(new Set(texts).size > 1);
  const chunks = await collect(await chat({...sampled, n: 3, stream: true}));
  assert.deepEqual([0, 1, 2].map((index) => joined(chunks, index)), texts);
});

test("biases and penalties change what is likeliest", limit, async () => {
  const {choices: [{logprobs: {content: [first]}}]} = await chat({logprobs: true, max_tokens: 1});
  const {tokens} = await (await server.post("/tokenize", {content: first.token,
                                                          add_special: false})).json();
  assert.equal(tokens.length, 1);
  const {choices: [other]} = await chat({logprobs: true, max_tokens: 1,
                                         logit_bias: {[tokens[0]]: -100}});
  assert.notEqual(other.logprobs.content[0].token, first.token);
  const {choices: [rare]} = await chat({frequency_penalty: 2, presence_penalty: 2});
  assert.notEqual(rare.message.content, greedy.choices[0].message.content);
});

test("completions: echo, several prompts, ids, streams", limit, async () => {
  const prompt = "Once upon a time";
  const {choices: [plain], usage} = await complete({prompt});
  assert.equal(usage.completion_tokens, 16);
  assert.equal(plain.finish_reason, "length");
  const {choices: [echoed]} = await complete({prompt, echo: true});
  assert.equal(echoed.text, prompt + plain.text);
  assert.equal(joined(await collect(await complete({prompt, stream: true}))), plain.text);
  assert.equal(joined(await collect(await complete({prompt, stream: true, echo: true}))),
               prompt + plain.text);

  const {tokens} = await (await server.post("/tokenize", {content: prompt})).json();
  const {choices: [same]} = await complete({prompt: tokens});
  assert.equal(same.text, plain.text);
  const several = await complete({prompt: [prompt, "The owl"], n: 2});
  assert.deepEqual(several.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.equal(several.choices[0].text, plain.text);
  assert.equal(several.choices[1].text, plain.text);
  assert.equal(several.choices[2].text, several.choices[3].text);
  assert.notEqual(several.choices[2].text, plain.text);

  const {choices: [told]} = await complete({prompt, logprobs: 2});
  assert.equal(told.logprobs.tokens.join(""), told.text);
  assert.equal(told.logprobs.token_logprobs.length, 16);
  assert.equal(told.logprobs.text_offset[1], told.logprobs.tokens[0].length);
});

test("completions: the likelihood of a prompt, as evaluations ask for it", limit, async () => {
  const context = "Once upon a time there was a", rest = " fox who lived near a lake.";
  const ids = async (content) => (await (await server.post("/tokenize", {content})).json()).tokens;
  const tokens = await ids(context + rest);
  const ask = (fields) => complete({echo: true, logprobs: 3, max_tokens: 0, ...fields});
  const {choices: [whole], usage} = await ask({prompt: tokens});
  assert.equal(whole.text, context + rest);
  assert.equal(whole.finish_reason, "length");
  assert.equal(usage.prompt_tokens, tokens.length);
  assert.equal(usage.completion_tokens, 0);
  const told = whole.logprobs;
  assert.equal(told.tokens.join(""), context + rest);
  for (const list of Object.values(told)) assert.equal(list.length, tokens.length);
  assert.equal(told.token_logprobs[0], null);
  assert.equal(told.top_logprobs[0], null);
  let at = 0;
  for (const [i, token] of told.tokens.entries()) {
    assert.equal(told.text_offset[i], at);
    at += token.length;
    if (i === 0) continue;
    assert.ok(told.token_logprobs[i] <= 0);
    const likely = Object.values(told.top_logprobs[i]);
    assert.ok([3, 4].includes(likely.length));   // the prompt's token is always among them
    assert.equal(told.top_logprobs[i][token], told.token_logprobs[i]);
  }

  // A prompt of text, a token longer, and a stream give the same.
  const {choices: [text]} = await ask({prompt: context + rest});
  assert.deepEqual(text.logprobs, told);
  const {choices: [longer]} = await ask({prompt: tokens, max_tokens: 1});
  assert.deepEqual(longer.logprobs.token_logprobs.slice(0, -1), told.token_logprobs);
  assert.equal(longer.logprobs.tokens.length, tokens.length + 1);
  assert.equal(longer.text, context + rest + longer.logprobs.tokens.at(-1));
  for (const fields of [{}, {max_tokens: 3, n: 2}]) {
    const {choices} = await ask({prompt: tokens, ...fields});
    const chunks = await collect(await ask({prompt: tokens, ...fields, stream: true}));
    for (const {index, text: expected, logprobs, finish_reason} of choices) {
      const own = chunks.flatMap((chunk) => chunk.choices).filter((one) => one.index === index);
      assert.equal(joined(chunks, index), expected);
      assert.equal(own.at(-1).finish_reason, finish_reason);
      for (const [name, list] of Object.entries(logprobs)) {
        assert.deepEqual(own.flatMap((one) => one.logprobs?.[name] ?? []), list);
      }
    }
  }

  // The likeliest token is the generated one. A prompt of one token has no log-probabilities.
  const {choices: [greedy3]} = await complete({prompt: context, max_tokens: 3, logprobs: 1});
  const said = await ask({prompt: [context + greedy3.text, "The owl", "a"], n: 2, logprobs: 1});
  assert.equal(said.choices.length, 6);
  const {tokens: names, token_logprobs: sure, top_logprobs: top} = said.choices[0].logprobs;
  assert.deepEqual(names.slice(-3), greedy3.logprobs.tokens);
  assert.deepEqual(sure.slice(-3), greedy3.logprobs.token_logprobs);
  assert.ok(top.slice(-3).every((one) => Object.keys(one).length === 1));
  assert.deepEqual(said.choices[1], {...said.choices[0], index: 1});
  assert.deepEqual(said.choices[2].logprobs.tokens.join(""), "The owl");
  const scored = await server.metric("hearth_scored_tokens_total");
  assert.ok(scored > tokens.length);

  // These requests compute nothing.
  const steps = await server.metric("hearth_steps_total");
  const {choices: [silent], usage: none} = await complete({prompt: context, max_tokens: 0});
  assert.deepEqual(silent, {index: 0, text: "", logprobs: null, finish_reason: "length"});
  assert.equal(none.completion_tokens, 0);
  const echoes = await complete({prompt: [context, tokens], max_tokens: 0, echo: true, n: 2});
  assert.deepEqual(echoes.choices.map((choice) => choice.text),
                   [context, context, context + rest, context + rest]);
  const pieces = await collect(await complete({prompt: context, max_tokens: 0, echo: true,
                                               stream: true}));
  assert.equal(joined(pieces), context);
  assert.equal(pieces.at(-1).choices[0].finish_reason, "length");
  assert.equal(await server.metric("hearth_steps_total"), steps);
  await rejects(chat({max_tokens: 0}), {status: 400, code: "invalid_value", param: "max_tokens"});
  await rejects(ask({prompt: Array(64).fill(Array(100).fill(tokens[0])), n: 16, logprobs: 20}),
                {status: 400, code: "invalid_value", param: "logprobs", message: /1048576/});
});

test("a client that leaves a stream frees its place", limit, async () => {
  const large = {ignore_eos: true, n: 16, logprobs: true, top_logprobs: 20};
  for (const leave of [(stream) => stream.controller.abort(), () => {}]) {
    const before = await server.metric("hearth_cancelled_choices_total");
    const stream = await chat({...large, stream: true});
    for await (const chunk of stream) {
      if (!chunk.choices[0]?.delta.content) continue;
      // The text is longer than all buffers between server and client, so it cannot end without a
      // reader.
      assert.ok(await server.metric("hearth_requests_running") > 0);
      leave(stream);
      break;
    }
    await server.idle();
    assert.ok(await server.metric("hearth_cancelled_choices_total") > before);
  }
  const control = new AbortController();
  const whole = chat({n: 16, ignore_eos: true}, {signal: control.signal});
  whole.catch(() => {});
  await Promise.race([whole, server.until("hearth_requests_running", (running) => running > 0)]);
  control.abort();
  await whole.catch((error) => assert.ok(error instanceof OpenAI.APIUserAbortError, String(error)));
  await server.idle();
  assert.equal((await chat({})).choices[0].message.content, greedy.choices[0].message.content);
});

test("structured output: whole, streamed and parsed", limit, async () => {
  const schema = {type: "object", required: ["animal", "legs"], additionalProperties: false,
                  properties: {animal: {enum: ["fox", "owl"]}, legs: {type: "integer", maximum: 8,
                                                                      minimum: 0}}};
  const format = {type: "json_schema", json_schema: {name: "answer", strict: true, schema}};
  const parsed = await client.chat.completions.parse({model: server.model, messages,
                                                      temperature: 0, response_format: format});
  const answer = JSON.parse(parsed.choices[0].message.content);
  assert.deepEqual(Object.keys(answer), ["animal", "legs"]);
  assert.ok(["fox", "owl"].includes(answer.animal) && answer.legs >= 0 && answer.legs <= 8);
  const chunks = await collect(await chat({response_format: format, stream: true}));
  assert.equal(joined(chunks), parsed.choices[0].message.content);
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  const named = await chat({response_format: format, n: 3, temperature: 1, seed: 1});
  for (const {message, finish_reason} of named.choices) {
    assert.equal(finish_reason, "stop");
    assert.ok("animal" in JSON.parse(message.content));
  }
  const remote = {properties: {a: {$ref: "http://x/"}}};
  await rejects(chat({response_format: {type: "json_schema",
                                        json_schema: {name: "r", schema: remote}}}),
                {status: 400, code: "invalid_schema", param: "response_format.json_schema.schema",
                 message: /schema\.properties\.a/});
});

test("what cannot be answered says so by status, code and param", limit, async () => {
  const image = {type: "image_url", image_url: {url: "data:image/png;base64,AA=="}};
  const tools = [{type: "function", function: {name: "f", parameters: {type: "object"}}}];
  const unsupported = {status: 400, code: "unsupported_parameter"};
  await rejects(chat({model: "nobody"}), {status: 404, code: "model_not_found",
                                          message: new RegExp(server.model)});
  await rejects(chat({tools}), {...unsupported, param: "tools"});
  await rejects(chat({tools, stream: true}), {...unsupported, param: "tools"});
  await rejects(chat({response_format: {type: "xml"}}),
                {...unsupported, message: /response_format/});
  await rejects(chat({messages: [{role: "user", content: [image]}]}), unsupported);
  await rejects(complete({prompt: "a", suffix: "b"}), {...unsupported, param: "suffix"});
  await rejects(chat({temperature: 3}), {status: 400, param: "temperature"});
  await rejects(chat({temperature: "hot"}), {status: 400, param: "temperature"});
  await rejects(chat({max_tokens: -1}), {status: 400, param: "max_tokens"});
  await rejects(chat({n: 1000}), {status: 400, param: "n"});
  await rejects(chat({messages: []}), {status: 400, param: "messages"});
  const {max_model_len: context} = (await client.models.list()).data[0];
  const long = [{role: "user", content: "fox ".repeat(2 * context)}];
  await rejects(chat({messages: long}), {status: 400, code: "context_length_exceeded",
                                         message: new RegExp(`\\b${context}\\b`)});
  await rejects(client.get("/nowhere"), {status: 404});
});

test("keys guard all but health and page", limit, async () => {
  const folder = mkdtempSync(join(tmpdir(), "hearth-keys-"));
  writeFileSync(join(folder, "keys"), "sesame\nother-key\n", {mode: 0o600});
  const guarded = await Hearth.start("--api-key-file", join(folder, "keys"));
  const ask = (apiKey) => connect(guarded, {apiKey}).chat.completions.create(
      {model: guarded.model, messages, max_tokens: 1});
  await rejects(ask("wrong"), {status: 401, code: "invalid_api_key"});
  for (const key of ["sesame", "other-key"]) {
    assert.equal((await ask(key)).usage.completion_tokens, 1);
  }
  for (const [path, status] of [["/health", 200], ["/live", 200], ["/", 200], ["/metrics", 401],
                                ["/v1/models", 401], ["/openapi.json", 401], ["/none", 401]]) {
    assert.equal((await guarded.fetch(path)).status, status, path);
  }
  await guarded.stop();
  rmSync(folder, {recursive: true});
});

test("a client that is turned away comes again and is served", limit, async () => {
  const narrow = await Hearth.start("--max-running", "1", "--max-queue", "1");
  let refused = 0;
  const counted = async (url, options) => {
    const reply = await fetch(url, options);
    if (reply.status === 429) {
      refused++;
      assert.match(reply.headers.get("retry-after"), /^[1-9][0-9]*$/);
    }
    return reply;
  };
  const patient = connect(narrow, {maxRetries: 100, fetch: counted});
  const asked = [];
  while (refused === 0) {
    asked.push(patient.chat.completions.create({model: narrow.model, messages, max_tokens: 200,
                                                temperature: 0}));
    await narrow.fetch("/live");
  }
  const texts = (await Promise.all(asked)).map((reply) => reply.choices[0].message.content);
  assert.equal(new Set(texts).size, 1);
  await narrow.stop();
});

test("embeddings come as the client asks for them, packed by default", limit, async () => {
  const embedder = await Hearth.start("--embed", demo, "--pooling", "mean");
  const texts = ["a red fox", "a kite"];
  const embed = (fields) => connect(embedder).embeddings.create(
      {model: `${server.model}-embed`, input: texts, ...fields});
  const packed = await embed({});
  const numbers = await embed({encoding_format: "float"});
  assert.equal(packed.data.length, 2);
  for (const [i, {index, embedding}] of numbers.data.entries()) {
    assert.equal(index, i);
    assert.deepEqual(Float32Array.from(packed.data[i].embedding), Float32Array.from(embedding));
    assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-6);
  }
  assert.ok(packed.usage.prompt_tokens > 2);
  assert.equal((await embed({dimensions: 8})).data[1].embedding.length, 8);
  await rejects(embed({input: ""}), {status: 400, code: "invalid_value", param: "input"});
  await rejects(embed({model: "nobody"}), {status: 404, code: "model_not_found"});
  await embedder.stop();
});
