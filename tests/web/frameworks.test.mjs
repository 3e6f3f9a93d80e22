// The smoke set through what people build on: Vercel's `ai` with @ai-sdk/openai-compatible, and
// LangChain's @langchain/openai, against `hearth serve` with the demo model.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {createOpenAICompatible} from "@ai-sdk/openai-compatible";
import {ChatOpenAI} from "@langchain/openai";
import {APICallError, generateText, streamText} from "ai";
import {Hearth, limit} from "./hearth.mjs";

const prompt = "Tell me a story about a fox and a kite.";
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
                                             includeUsage: true});
const langchain = (fields = {}) => new ChatOpenAI({
  model: server.model, apiKey: "none", temperature: 0, maxRetries: 0, streamUsage: true,
  configuration: {baseURL: `${server.url}/v1`}, ...fields,
});

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
    control.signal.throwIfAborted();   // the stream may have come to its end before
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
  await assert.rejects(langchain().bindTools([tool]).invoke(prompt), (error) => {
    assert.equal(error.status, 400);
    assert.match(error.message, /tools/);
    return true;
  });
});
