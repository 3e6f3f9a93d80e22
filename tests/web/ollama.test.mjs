// Tests npm's `ollama` against `hearth serve` with the demo model, which embeds too: chats and
// prompts whole and as streams, calls, shapes, vectors, lists, aborts, and the texts of errors.

import assert from "node:assert/strict";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {Ollama} from "ollama";
import {demo, Hearth, limit, startHub} from "./hearth.mjs";

const messages = [{role: "user", content: "Tell me a story about a fox and a kite."}];
const request = [{role: "user", content: `Read the note. ${"The fox has a kite. ".repeat(12)}`}];
const read = {type: "function", function: {
  name: "read", description: "Reads a file.",
  parameters: {type: "object", properties: {path: {enum: ["note.txt", "fox.txt"]}},
               required: ["path"], additionalProperties: false}}};
const calm = {temperature: 0, num_predict: 12};
let teller;   // tells stories, and embeds
let caller;   // calls tools, and thinks
const connect = (to, more = {}) => new Ollama({host: to.url, ...more});

before(async () => {
  teller = await Hearth.start("--embed", demo, "--pooling", "mean");
  caller = await Hearth.startCaller();
});
after(() => Promise.all([teller?.stop(), caller?.stop()]));

function rejects(promise, status, text) {
  return assert.rejects(promise, (error) => {
    assert.equal(error.name, "ResponseError");
    assert.equal(error.status_code, status);
    assert.match(error.error, text);
    return true;
  });
}

async function collect(stream) {
  const lines = [];
  for await (const line of stream) lines.push(line);
  assert.deepEqual(lines.map((line) => line.done), lines.map((_, i) => i === lines.length - 1));
  return lines;
}

function checkTaken(reply, tokens) {
  assert.equal(reply.eval_count, tokens);
  assert.ok(reply.prompt_eval_count > 5);
  for (const name of ["total_duration", "prompt_eval_duration", "eval_duration"]) {
    assert.ok(Number.isInteger(reply[name]) && reply[name] >= 0, name);
  }
  assert.ok(reply.total_duration >= reply.eval_duration);
  assert.ok(new Date(reply.created_at).getTime() > Date.now() - 3_600_000);
}

test("chats, whole and as a stream", limit, async () => {
  const body = {model: "demo:latest", messages, options: calm};
  const whole = await connect(teller).chat(body);
  assert.equal(whole.model, "demo:latest");
  assert.equal(whole.done_reason, "length");
  assert.match(whole.message.content, /fox/i);
  checkTaken(whole, 12);
  const lines = await collect(await connect(teller).chat({...body, stream: true}));
  assert.ok(lines.length > 3);
  assert.equal(lines.map((line) => line.message.content).join(""), whole.message.content);
  checkTaken(lines.at(-1), 12);
  // OpenAI's API gives the same text.
  const other = await (await teller.post("/v1/chat/completions",
                                         {messages, temperature: 0, max_tokens: 12})).json();
  assert.equal(other.choices[0].message.content, whole.message.content);
});

test("prompts, of a chat and raw", limit, async () => {
  const body = {model: "demo", prompt: messages[0].content, options: calm};
  const whole = await connect(teller).generate(body);
  checkTaken(whole, 12);
  const lines = await collect(await connect(teller).generate({...body, stream: true}));
  assert.equal(lines.map((line) => line.response).join(""), whole.response);
  const chat = await connect(teller).chat({model: "demo", messages, options: calm});
  assert.equal(whole.response, chat.message.content);
  const raw = await connect(teller).generate({...body, raw: true, logprobs: true, top_logprobs: 2});
  assert.equal(raw.logprobs.map(({token}) => token).join(""), raw.response);
  assert.equal(raw.logprobs[0].top_logprobs.length, 2);
  const system = await connect(teller).generate({...body, system: "You know owls alone."});
  assert.ok(system.prompt_eval_count > whole.prompt_eval_count);
});

test("a model that is there is loaded", limit, async () => {
  const {done, done_reason: reason} = await connect(teller).chat({model: "demo", messages: []});
  assert.deepEqual([done, reason], [true, "load"]);
  assert.equal((await connect(teller).generate({model: "demo", prompt: ""})).done_reason, "load");
});

test("a shape holds", limit, async () => {
  const schema = {type: "object", properties: {animal: {enum: ["fox", "owl"]}},
                  required: ["animal"], additionalProperties: false};
  for (const stream of [false, true]) {
    const asked = {model: "demo", messages, format: schema, stream};
    const reply = await connect(teller).chat(asked);
    const text = stream ? (await collect(reply)).map((line) => line.message.content).join("")
                        : reply.message.content;
    assert.match(JSON.parse(text).animal, /^(fox|owl)$/);
  }
});

test("tools are called, and their answers taken", limit, async () => {
  const asked = {model: "demo", messages: request, tools: [read], tool_choice: "required",
                 think: false, options: {temperature: 0, num_predict: 200}};
  const whole = await connect(caller).chat(asked);
  const [call] = whole.message.tool_calls;
  assert.equal(call.function.name, "read");
  assert.match(call.function.arguments.path, /^(note|fox).txt$/);
  const lines = await collect(await connect(caller).chat({...asked, stream: true}));
  const streamed = lines.flatMap((line) => line.message.tool_calls ?? []);
  assert.deepEqual(streamed.map((one) => one.function),
                   whole.message.tool_calls.map((one) => one.function));
  const more = [...request, whole.message,
                {role: "tool", tool_name: "read", content: "The fox is away."}];
  const last = await connect(caller).chat({...asked, messages: more, tool_choice: "none",
                                           options: calm});
  assert.ok(last.prompt_eval_count > whole.prompt_eval_count);
  assert.equal(last.message.tool_calls, undefined);
});

test("thinking is told apart", limit, async () => {
  const asked = {model: "demo", messages, think: true, options: calm};
  const whole = await connect(caller).chat(asked);
  assert.ok(whole.message.thinking.length > 0);
  assert.equal(whole.message.content, "");
  const lines = await collect(await connect(caller).chat({...asked, stream: true}));
  assert.equal(lines.map((line) => line.message.thinking ?? "").join(""), whole.message.thinking);
  await rejects(connect(teller).chat(asked), 400, /^think is not available/);
});

test("texts become the vectors that they are elsewhere", limit, async () => {
  const input = ["a red fox", "an owl"];
  const [name] = (await connect(teller).list()).models.map((model) => model.name).slice(1);
  const {embeddings, prompt_eval_count: tokens} = await connect(teller).embed({model: name, input});
  const {data} = await (await teller.post("/v1/embeddings", {input})).json();
  assert.deepEqual(embeddings, data.map((entry) => entry.embedding));
  assert.ok(tokens >= 4);
  const {embedding} = await connect(teller).embeddings({model: name, prompt: input[0]});
  assert.deepEqual(embedding, embeddings[0]);
  const short = await connect(teller).embed({model: name, input: input[0], dimensions: 8});
  assert.equal(short.embeddings[0].length, 8);
  await rejects(connect(teller).embed({model: "none", input}), 404, /has no model 'none'/);
  await rejects(connect(teller).embed({model: name, input: "fox ".repeat(3000), truncate: false}),
                400, /shorten it/);
  await rejects(connect(caller).embed({model: "demo", input}), 404, /needs an embedding model/);
});

test("models are listed and shown", limit, async () => {
  const {models} = await connect(teller).list();
  assert.deepEqual(models.map(({name}) => name), ["demo:latest", "demo-embed:latest"]);
  const [{details, digest, size, modified_at: modified}] = models;
  assert.equal(details.family, "qwen3");
  assert.match(details.parameter_size, /^[\d.]+[KM]$/);
  assert.match(digest, /^[0-9a-f]{16}$/);
  assert.ok(size > 1e6 && new Date(modified).getTime() > 0);
  const running = (await connect(teller).ps()).models;
  assert.equal(running.length, 2);
  assert.ok(new Date(running[0].expires_at).getTime() > Date.now());
  const shown = await connect(caller).show({model: "demo"});
  assert.deepEqual(shown.capabilities, ["completion", "tools", "thinking"]);
  assert.equal(shown.model_info["general.architecture"], "qwen3");
  assert.equal(shown.model_info["qwen3.context_length"], running[0].context_length);
  const embed = await connect(teller).show({model: "demo-embed:latest"});
  assert.deepEqual(embed.capabilities, ["embedding"]);
  assert.match((await connect(teller).version()).version, /^\d+\.\d+\.\d+$/);
});

test("an abort frees the server", limit, async () => {
  const client = connect(teller);
  const before = await teller.metric("hearth_requests_total");
  const asked = {model: "demo", messages, stream: true, options: {num_predict: -1, seed: 1}};
  const stream = await client.chat(asked);
  await assert.rejects(async () => {
    for await (const line of stream) {
      assert.equal(line.done, false);
      client.abort();
    }
  }, {name: "AbortError"});
  await teller.idle();
  assert.ok(await teller.metric("hearth_requests_total") > before);
});

test("models are pulled, let go and deleted where the server lets its clients", limit, async () => {
  const home = mkdtempSync(join(tmpdir(), "hearth-stock-"));
  const {hub, endpoint} = await startHub(`m-Q4_0.gguf=${demo}`);
  const stock = await Hearth.startStock(home, endpoint);
  try {
    const client = connect(stock);
    const lines = [];
    for await (const line of await client.pull({model: "hf.co/org/model", stream: true})) {
      lines.push(line);
    }
    assert.equal(lines.at(-1).status, "success");
    const last = lines.findLast(({total}) => total > 0);
    assert.equal(last.completed, last.total);
    assert.match(last.digest, /^sha256:[0-9a-f]{64}$/);
    const model = "hf.co/org/model:Q4_0";
    assert.deepEqual(await client.pull({model}), {status: "success"});
    assert.deepEqual((await client.list()).models.map(({name}) => name), ["org/model:Q4_0"]);
    const told = await client.generate({model, prompt: "Once", raw: true, options: calm});
    assert.ok(told.response.length > 0);
    assert.equal((await client.generate({model, prompt: "", keep_alive: 0})).done_reason, "unload");
    while ((await client.ps()).models.length > 0);
    assert.deepEqual(await client.delete({model}), {status: "success"});
    assert.deepEqual((await client.list()).models, []);
    await rejects(client.pull({model: "qwen3:0.6b"}), 400, /is not a model name/);
    await rejects(client.delete({model}), 404, /has no model/);
  } finally {
    await stock.stop();
    hub.stdin.end();
    rmSync(home, {recursive: true});
  }
});

test("errors have their sentence", limit, async () => {
  const client = connect(teller);
  const chat = (fields) => client.chat({model: "demo", messages, ...fields});
  await rejects(chat({model: "nobody:7b"}), 404, /^this server has no model 'nobody:7b'/);
  await rejects(chat({options: {top_p: 7}}), 400, /^options\.top_p is 7; it must lie between/);
  await rejects(chat({options: {num_ctx: 1_000_000}}), 400, /^options\.num_ctx is 1000000/);
  await rejects(chat({tools: [read]}), 400, /^tools cannot be called/);
  await rejects(chat({messages: [{...messages[0], images: ["aGk="]}]}), 400,
                /^messages\[0\]\.images asks for/);
  await rejects(chat({format: "yaml", stream: true}), 400, /^format is 'yaml'/);
  await rejects(client.generate({model: "demo", prompt: "a", suffix: "b"}), 400, /^suffix asks/);
  await rejects(client.show({model: "nobody"}), 404, /'demo' and 'demo-embed'/);
  await rejects(client.pull({model: "qwen3:0.6b"}), 403, /does not pull models/);
  await rejects(client.pull({model: "qwen3:0.6b", stream: true}), 403, /does not pull models/);
  await rejects(client.delete({model: "demo"}), 403, /does not delete models/);
  await rejects(client.copy({source: "demo", destination: "a"}), 404, /there is no \/api\/copy/);
});

test("keys are sent as a header", limit, async () => {
  const folder = mkdtempSync("/tmp/hearth-keys-");
  writeFileSync(`${folder}/keys`, "secret\n");
  const server = await Hearth.start("--api-key-file", `${folder}/keys`);
  try {
    await rejects(connect(server).list(), 401, /^this server needs an API key/);
    const headers = {Authorization: "Bearer secret"};
    assert.equal((await connect(server, {headers}).list()).models.length, 1);
  } finally {
    await server.stop();
    rmSync(folder, {recursive: true});
  }
});
