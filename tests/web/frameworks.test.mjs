// Smoke tests through common libraries: Vercel's `ai` with @ai-sdk/openai-compatible and
// @ai-sdk/openai, and LangChain's @langchain/openai and @langchain/anthropic, against `hearth
// serve` with the demo model. Tools are in framework_tools.test.mjs.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {createOpenAI} from "@ai-sdk/openai";
import {createOpenAICompatible} from "@ai-sdk/openai-compatible";
import {ChatAnthropic} from "@langchain/anthropic";
import {ChatOpenAI} from "@langchain/openai";
import {APICallError, generateObject, generateText, jsonSchema, streamObject, streamText} from "ai";
import {Hearth, limit} from "./hearth.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const prompt = "Tell me a story about a fox and a kite.";
const answer = {title: "answer", type: "object",
                properties: {animal: {type: "string", enum: ["fox", "owl"]},
                             legs: {type: "integer", enum: [2, 4]}},
                required: ["animal", "legs"], additionalProperties: false};
let server;
let greedy;   // the likeliest answer, by plain HTTP

before(async () => {
  server = await Hearth.start();
  const reply = await server.post("/v1/chat/completions",
                                  {messages: [{role: "user", content: prompt}], temperature: 0});
  greedy = (await reply.json()).choices[0].message.content;
});
after(() => server?.stop());

const vercel = () => createOpenAICompatible({name: "hearth", baseURL: `${server.url}/v1`,
                                             includeUsage: true, supportsStructuredOutputs: true});
const openai = () => createOpenAI({baseURL: `${server.url}/v1`, apiKey: "none"});
const langchain = (fields = {}) => new ChatOpenAI({
  model: server.model, apiKey: "none", temperature: 0, maxRetries: 0, streamUsage: true,
  configuration: {baseURL: `${server.url}/v1`}, ...fields,
});
const anthropic = (fields = {}) => new ChatAnthropic({
  model: server.model, apiKey: "none", temperature: 0, maxRetries: 0, maxTokens: 400,
  anthropicApiUrl: server.url, ...fields,
});

function checkAnswer(given) {
  assert.deepEqual(Object.keys(given), ["animal", "legs"]);
  assert.ok(["fox", "owl"].includes(given.animal) && [2, 4].includes(given.legs));
}

test("ai: generateText", limit, async () => {
  const model = vercel()(server.model);
  const {text, usage, finishReason} = await generateText({model, prompt, temperature: 0});
  assert.equal(text, greedy);
  assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  assert.ok(["stop", "length"].includes(finishReason));
  const short = await generateText({model, system: "Be brief.", prompt, maxOutputTokens: 3,
                                    seed: 3, stopSequences: ["never said"]});
  assert.equal(short.finishReason, "length");
  assert.equal(short.usage.outputTokens, 3);
});

test("ai: streamText, also of a text completion", limit, async () => {
  const result = streamText({model: vercel()(server.model), prompt, temperature: 0});
  let text = "";
  let pieces = 0;
  for await (const piece of result.textStream) {
    text += piece;
    pieces++;
  }
  assert.equal(text, greedy);
  assert.ok(pieces > 10);
  assert.ok((await result.usage).outputTokens > 0);
  const model = vercel().completionModel(server.model);
  const completed = streamText({model, prompt: "Once upon a time", maxOutputTokens: 8,
                                temperature: 0});
  assert.match(await completed.text, /./);
});

test("ai: @ai-sdk/openai's chats and Responses", limit, async () => {
  for (const model of [openai().chat(server.model), openai().responses(server.model)]) {
    const whole = await generateText({model, prompt, temperature: 0});
    assert.equal(whole.text, greedy);
    const stream = streamText({model, prompt, temperature: 0});
    assert.equal(await stream.text, greedy);
    assert.deepEqual([(await stream.usage).outputTokens, await stream.finishReason],
                     [whole.usage.outputTokens, whole.finishReason]);
    await assert.rejects(generateText({model: openai().responses("nobody"), prompt, maxRetries: 0}),
                         (error) => APICallError.isInstance(error) && error.statusCode === 404);
  }
});

test("objects of a schema", limit, async () => {
  const schema = jsonSchema(answer);
  for (const model of [vercel()(server.model), openai().responses(server.model)]) {
    const {object} = await generateObject({model, prompt, schema, temperature: 0});
    checkAnswer(object);
    let last = null;
    const stream = streamObject({model, prompt, schema, temperature: 0});
    for await (const part of stream.partialObjectStream) last = part;
    assert.deepEqual(last, object);
  }
  // @langchain/anthropic requests only the types, and tells the model the rest.
  for (const model of [langchain(), langchain({useResponsesApi: true})]) {
    checkAnswer(await model.withStructuredOutput(answer, {name: "answer", method: "jsonSchema"})
        .invoke(prompt));
  }
});

test("ai: a stream that is aborted frees its place", limit, async () => {
  const control = new AbortController();
  let aborted = false;
  const result = streamText({
    model: vercel()(server.model), prompt, abortSignal: control.signal,
    providerOptions: {hearth: {ignore_eos: true}},
    onAbort() { aborted = true; },
  });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") control.abort();
  }
  assert.ok(aborted);
  await server.idle();
});

test("ai: errors keep status and words", limit, async () => {
  const ask = (fields) => generateText({model: vercel()(server.model), prompt, maxRetries: 0,
                                        ...fields});
  const told = (status, words) => (error) => {
    assert.ok(APICallError.isInstance(error), String(error));
    assert.equal(error.statusCode, status);
    assert.match(error.message, words);
    assert.equal(error.isRetryable, false);
    return true;
  };
  await assert.rejects(ask({model: vercel()("nobody")}), told(404, new RegExp(server.model)));
  await assert.rejects(ask({temperature: 5}), told(400, /temperature/));
});

test("langchain: invoke, stream, batch", limit, async () => {
  const model = langchain();
  const message = await model.invoke(prompt);
  assert.equal(message.content, greedy);
  assert.ok(message.usage_metadata.input_tokens > 0 && message.usage_metadata.output_tokens > 0);
  let whole = null;
  let pieces = 0;
  for await (const chunk of await model.stream([["system", "Be brief."], ["user", prompt]])) {
    whole = whole ? whole.concat(chunk) : chunk;
    pieces++;
  }
  assert.ok(pieces > 10);
  assert.ok(whole.usage_metadata.output_tokens > 0);
  const several = await model.batch([prompt, prompt, prompt]);
  assert.deepEqual(several.map((one) => one.content), [greedy, greedy, greedy]);
  const probable = await langchain({logprobs: true, topLogprobs: 2, maxTokens: 4}).invoke(prompt);
  assert.equal(probable.response_metadata.logprobs.content.length, 4);
});

test("langchain: @langchain/anthropic's invoke and stream", limit, async () => {
  const message = await anthropic().invoke([["system", "Be brief."], ["user", prompt]]);
  assert.equal(message.response_metadata.stop_reason, "end_turn");
  assert.equal((await anthropic().invoke(prompt)).text, greedy);
  let whole = null;
  for await (const chunk of await anthropic().stream([["system", "Be brief."], ["user", prompt]])) {
    whole = whole ? whole.concat(chunk) : chunk;
  }
  assert.equal(whole.text, message.text);
  assert.equal(whole.usage_metadata.output_tokens, message.usage_metadata.output_tokens);
  const cut = await anthropic({maxTokens: 5}).invoke(prompt);
  assert.deepEqual([cut.response_metadata.stop_reason, cut.usage_metadata.output_tokens],
                   ["max_tokens", 5]);
});

test("langchain: a stream that is left frees its place", limit, async () => {
  const model = langchain({modelKwargs: {ignore_eos: true}});
  for await (const chunk of await model.stream(prompt)) {
    if (chunk.content) break;
  }
  await server.idle();
  const control = new AbortController();
  await assert.rejects(async () => {
    for await (const chunk of await model.stream(prompt, {signal: control.signal})) {
      if (chunk.content) control.abort();
    }
    control.signal.throwIfAborted();   // the stream may have ended before
  });
  await server.idle();
});

test("langchain: errors keep status and code", limit, async () => {
  await assert.rejects(langchain({model: "nobody"}).invoke(prompt), (error) => {
    assert.equal(error.status, 404);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  const tool = {type: "function", function: {name: "f", parameters: {type: "object"}}};
  for (const model of [langchain(), anthropic()]) {
    await assert.rejects(model.bindTools([tool]).invoke(prompt), (error) => {
      assert.equal(error.status, 400);
      assert.match(error.message, /tools/);
      return true;
    });
  }
  await assert.rejects(anthropic({model: "nobody"}).invoke(prompt),
                       (error) => error.status === 404 && error.message.includes(server.model));
});
