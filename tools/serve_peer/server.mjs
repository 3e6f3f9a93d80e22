// llama.cpp behind a small server of OpenAI's /v1/completions (streams only), by way of
// node-llama-cpp. `hearth serve` is compared with it.
//
//   node server.mjs MODEL.gguf [--port 8090] [--sequences 16] [--context 4096] [--threads 0]
//
// One context has --sequences sequences, which node-llama-cpp batches together. Further requests
// wait for one in order of arrival. Every request begins with an empty sequence. Prompts are token
// ids or text. Sampling is greedy, and generation goes on beyond the model's end of text.
import http from "node:http";
import {parseArgs} from "node:util";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const {values: options, positionals: [path]} = parseArgs({
  allowPositionals: true,
  options: {
    port: {type: "string", default: "8090"},
    sequences: {type: "string", default: "16"},
    context: {type: "string", default: "4096"},
    threads: {type: "string", default: "0"},
  },
});
if (path === undefined) throw new Error("server.mjs MODEL.gguf: which model?");

const llama = await getLlama({
  gpu: false, build: "never", logLevel: LlamaLogLevel.warn, progressLogs: false, maxThreads: 0,
});
const model = await llama.loadModel({modelPath: path});
const count = Number(options.sequences);
const threads = Number(options.threads) || llama.cpuMathCores;
const context = await model.createContext({
  sequences: count, contextSize: Number(options.context), batchSize: 512,
  threads: {ideal: threads, min: threads},
});
const free = Array.from({length: count}, () => context.getSequence());
const waiting = [];

function takeSequence() {
  if (free.length > 0) return Promise.resolve(free.pop());
  return new Promise((resolve) => waiting.push(resolve));
}

function giveBack(sequence) {
  const next = waiting.shift();
  if (next) next(sequence);
  else free.push(sequence);
}

async function readBody(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return JSON.parse(Buffer.concat(pieces).toString());
}

// Sends tokens of the text until there are as many as asked for or the client has gone.
async function generate(sequence, tokens, most, reply) {
  let sent = 0;
  await sequence.clearHistory();
  for await (const token of sequence.evaluate(tokens, {temperature: 0, yieldEogToken: true})) {
    ++sent;
    const choice = {index: 0, text: model.detokenize([token], true), finish_reason: null};
    reply.write(`data: ${JSON.stringify({object: "text_completion", choices: [choice]})}\n\n`);
    if (sent >= most || reply.destroyed) break;
  }
  return sent;
}

async function complete(request, reply) {
  const {prompt, max_tokens: most = 16} = await readBody(request);
  const tokens = typeof prompt === "string" ? model.tokenize(prompt) : prompt;
  const sequence = await takeSequence();
  try {
    reply.writeHead(200, {"Content-Type": "text/event-stream"});
    const sent = await generate(sequence, tokens, most, reply);
    const usage = {prompt_tokens: tokens.length, completion_tokens: sent,
                   total_tokens: tokens.length + sent};
    reply.end(`data: ${JSON.stringify({choices: [], usage})}\n\ndata: [DONE]\n\n`);
  } finally {
    giveBack(sequence);
  }
}

function send(reply, status, value) {
  reply.writeHead(status, {"Content-Type": "application/json"});
  reply.end(JSON.stringify(value));
}

const server = http.createServer(async (request, reply) => {
  try {
    if (request.url === "/v1/models") {
      send(reply, 200, {object: "list", data: [{id: "peer", object: "model"}]});
    } else if (request.method === "POST" && request.url === "/v1/completions") {
      await complete(request, reply);
    } else {
      send(reply, 404, {error: {message: "no such route"}});
    }
  } catch (error) {
    console.error(error);
    if (reply.headersSent) reply.destroy();
    else send(reply, 500, {error: {message: String(error)}});
  }
});
server.listen(Number(options.port), "127.0.0.1", () => {
  console.error(`peer: serving ${path} at http://127.0.0.1:${server.address().port}/ with ` +
                `${count} sequences of ${context.contextSize} tokens, ${threads} threads`);
});
