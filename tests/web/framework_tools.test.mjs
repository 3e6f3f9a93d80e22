// Tests tools and structured output through common libraries: Vercel's `ai` with three of its
// providers, and LangChain's @langchain/openai and @langchain/anthropic. The server has a stub of
// an engine, whose replies are in its chats (tests/server/scripted_turn.h). The grammars of the
// tools and schemas apply to its replies, as to a model's.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {createOpenAI} from "@ai-sdk/openai";
import {createOpenAICompatible} from "@ai-sdk/openai-compatible";
import {ChatAnthropic} from "@langchain/anthropic";
import {HumanMessage, ToolMessage} from "@langchain/core/messages";
import {tool as langchainTool} from "@langchain/core/tools";
import {ChatOpenAI} from "@langchain/openai";
import {APICallError, generateObject, generateText, jsonSchema, Output, stepCountIs, streamObject,
        streamText, tool} from "ai";
import {Hearth, limit} from "./hearth.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

// A message with the stub's replies for its turns.
const say = (...scripts) => scripts.map((script) => `SAY(${script})YAS`).join(" ");
const callOf = (name, args) =>
  `<tool_call>\n${JSON.stringify({name, arguments: args})}\n</tool_call>`;
const calls = (...paths) => paths.map((path) => callOf("read", {path})).join("\n");
const loop = (...paths) =>
  say(`<think>\nI look.\n</think>\n\n${calls(...paths)}`, "It is BEHIND(The animal is ).");
const fox = {animal: "fox", legs: 4};

const readSchema = {type: "object", properties: {path: {type: "string"}}, required: ["path"],
                    additionalProperties: false};
const answerSchema = {title: "answer", type: "object",
                      properties: {animal: {type: "string", enum: ["fox", "owl"]},
                                   legs: {type: "integer"}},
                      required: ["animal", "legs"], additionalProperties: false};
const oddSchema = {type: "object", properties: {a: {$ref: "http://x/"}}, required: ["a"],
                   additionalProperties: false};
const gives = ({path}) => `In ${path}: The animal is ${path === "b.txt" ? "owl" : "fox"}.`;

let server;
before(async () => { server = await Hearth.startScripted(); });
after(() => server?.stop());

const api = () => createOpenAI({baseURL: `${server.url}/v1`, apiKey: "none"});
const compatible = () => createOpenAICompatible({
  name: "hearth", baseURL: `${server.url}/v1`, includeUsage: true, supportsStructuredOutputs: true,
});
// The libraries by name, with the model, and whether the library reads reasoning. Unless `store` is
// false, @ai-sdk/openai's Responses send references to items, which the server does not keep. For
// models that are not OpenAI's they ask for no reasoning unless told to.
const vercels = [
  {name: "@ai-sdk/openai-compatible", model: () => compatible()(server.model), thinks: true},
  {name: "@ai-sdk/openai of chats", model: () => api().chat(server.model)},
  {name: "@ai-sdk/openai of Responses", model: () => api().responses(server.model), thinks: true,
   more: {providerOptions: {openai: {store: false, forceReasoning: true,
                                     reasoningSummary: "auto"}}}},
];
const read = tool({description: "Reads a file.", inputSchema: jsonSchema(readSchema),
                   execute: gives});

for (const {name, model, thinks, more} of vercels) {
  const fields = (prompt) => ({model: model(), prompt, maxRetries: 0, ...more});
  const looping = (prompt) => ({...fields(prompt), tools: {read}, stopWhen: stepCountIs(4)});
  const check = (steps, text) => {
    assert.equal(steps.length, 2);
    assert.deepEqual(steps[0].toolCalls.map((call) => [call.toolName, call.input.path]),
                     [["read", "a.txt"], ["read", "b.txt"]]);
    assert.deepEqual(steps.map((step) => step.finishReason), ["tool-calls", "stop"]);
    if (thinks) assert.equal(steps[0].reasoningText.trim(), "I look.");
    assert.deepEqual(steps.flatMap((step) => step.warnings ?? []), []);
    assert.equal(text, "It is owl.");
    assert.ok(steps.every((step) => step.usage.inputTokens > 0 && step.usage.outputTokens > 0));
  };

  test(`${name}: a loop of tools, whole and streamed`, limit, async () => {
    const whole = await generateText(looping(loop("a.txt", "b.txt")));
    check(whole.steps, whole.text);
    const stream = streamText(looping(loop("a.txt", "b.txt")));
    const kinds = new Set();
    for await (const part of stream.fullStream) kinds.add(part.type);
    check(await stream.steps, await stream.text);
    for (const kind of ["tool-input-delta", "tool-call", "tool-result", "text-delta"]) {
      assert.ok(kinds.has(kind), `no ${kind} among ${[...kinds]}`);
    }
    assert.equal(kinds.has("reasoning-delta"), thinks === true);
  });

  test(`${name}: a tool is chosen, or none`, limit, async () => {
    const chosen = await generateText({
      ...fields(say(callOf("read", {path: "a.txt"}))), tools: {read, ping: read},
      toolChoice: {type: "tool", toolName: "read"},
    });
    assert.deepEqual(chosen.toolResults.map((result) => result.output), [gives({path: "a.txt"})]);
    const none = await generateText({...fields(say(calls("a.txt"))), tools: {read},
                                     toolChoice: "none"});
    assert.deepEqual([none.toolCalls.length, none.finishReason], [0, "stop"]);
  });

  test(`${name}: objects of a schema, whole and streamed`, limit, async () => {
    const asked = {...fields(say(JSON.stringify(fox))), schema: jsonSchema(answerSchema)};
    assert.deepEqual((await generateObject(asked)).object, fox);
    const stream = streamObject(asked);
    const parts = [];
    for await (const part of stream.partialObjectStream) parts.push(part);
    assert.deepEqual([parts.at(-1), await stream.object], [fox, fox]);
    const {output} = await generateText({...fields(say(JSON.stringify(fox))),
                                         output: Output.object({schema: asked.schema})});
    assert.deepEqual(output, fox);
  });

  test(`${name}: errors keep status and words`, limit, async () => {
    const refused = (status, words) => (error) => {
      assert.ok(APICallError.isInstance(error), String(error));
      assert.equal(error.statusCode, status);
      assert.match(error.message, words);
      return true;
    };
    await assert.rejects(generateObject({...fields("Hi."), schema: jsonSchema(oddSchema)}),
                         refused(400, /http:\/\/x\//));
    // This fails in mid-turn, since the grammar forbids the script.
    const bound = {...fields(say(callOf("read", {path: 5}))), tools: {read}};
    await assert.rejects(generateText(bound), refused(500, /may not come/));
    const told = [];
    for await (const part of streamText({...bound, onError() {}}).fullStream) {
      if (part.type === "error") told.push(part.error);
    }
    assert.equal(told.length, 1);
    assert.match(JSON.stringify(told[0]) + told[0].message, /may not come/);
  });
}

test("@ai-sdk/openai of Responses sends reasoning back", limit, async () => {
  const {more} = vercels.find(({name}) => name === "@ai-sdk/openai of Responses");
  const bodies = [];
  const told = createOpenAI({baseURL: `${server.url}/v1`, apiKey: "none", fetch: (to, how) => {
    bodies.push(JSON.parse(how.body));
    return fetch(to, how);
  }});
  const fields = () => ({model: told.responses(server.model), prompt: loop("a.txt", "b.txt"),
                         tools: {read}, stopWhen: stepCountIs(4), ...more});
  await generateText(fields());
  await streamText(fields()).consumeStream();
  assert.equal(bodies.length, 4);
  for (const {include, input} of [bodies[1], bodies[3]]) {
    assert.deepEqual(include, ["reasoning.encrypted_content"]);
    const [{summary, encrypted_content}] = input.filter((item) => item.type === "reasoning");
    assert.equal(summary[0].text.trim(), "I look.");
    assert.equal(Buffer.from(encrypted_content.split(".")[1], "base64").toString(),
                 summary[0].text);
  }
});

const settings = () => ({model: server.model, apiKey: "none", maxRetries: 0});
const openai = (more) => new ChatOpenAI({
  ...settings(), streamUsage: true, configuration: {baseURL: `${server.url}/v1`}, ...more});
// The libraries by name, with the model, and the code of its errors. `quiet`: its streams ignore
// the event of a failure.
const langchains = [
  {name: "@langchain/openai", model: () => openai(), code: "invalid_schema"},
  {name: "@langchain/openai of Responses", model: () => openai({useResponsesApi: true}),
   code: "invalid_schema", quiet: true},
  {name: "@langchain/anthropic", model: () => new ChatAnthropic({
    ...settings(), anthropicApiUrl: server.url, maxTokens: 1000})},
];
const reader = langchainTool(gives, {name: "read", description: "Reads a file.",
                                     schema: readSchema});

for (const {name, model, code, quiet} of langchains) {
  const bound = (more) => model().bindTools([reader], more);
  async function streamed(runnable, messages) {
    let whole = null;
    let pieces = 0;
    for await (const chunk of await runnable.stream(messages)) {
      whole = whole ? whole.concat(chunk) : chunk;
      pieces++;
    }
    assert.ok(pieces > 3, `${pieces} pieces`);
    return whole;
  }
  const plain = (message) => message.tool_calls.map((call) => [call.name, call.args.path]);

  test(`${name}: a loop of tools, whole and streamed`, limit, async () => {
    const messages = [new HumanMessage(loop("a.txt", "b.txt"))];
    const message = await bound().invoke(messages);
    assert.deepEqual(plain(message), [["read", "a.txt"], ["read", "b.txt"]]);
    assert.deepEqual(plain(await streamed(bound(), messages)), plain(message));
    assert.ok(message.usage_metadata.output_tokens > 10);
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push(new ToolMessage({tool_call_id: call.id, content: gives(call.args)}));
    }
    assert.equal((await bound().invoke(messages)).text, "It is owl.");
    assert.equal((await streamed(bound(), messages)).text, "It is owl.");
  });

  test(`${name}: withStructuredOutput, by a call and by a schema`, limit, async () => {
    for (const [method, script] of [["functionCalling", callOf("answer", fox)],
                                    ["jsonSchema", JSON.stringify(fox)]]) {
      const asked = model().withStructuredOutput(answerSchema, {name: "answer", method});
      assert.deepEqual(await asked.invoke(say(script)), fox);
    }
  });

  test(`${name}: errors keep status and words`, limit, async () => {
    const asked = model().withStructuredOutput(oddSchema, {name: "odd", method: "jsonSchema"});
    await assert.rejects(asked.invoke("Hi."), (error) => {
      assert.deepEqual([error.status, error.code], [400, code]);
      assert.match(error.message, /http:\/\/x\//);
      return true;
    });
    // This fails in mid-turn, since the grammar forbids the script.
    const script = say(callOf("read", {path: 5}));
    await assert.rejects(bound().invoke(script), /may not come/);
    if (!quiet) await assert.rejects(streamed(bound(), script), /may not come/);
  });
}
