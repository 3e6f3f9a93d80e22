// A server whose answers the test gives. It has the page's files with the policy that `hearth
// serve` sends, one model, and chat requests that are handed to the test one by one. So every state
// of the page is reached by events, never by waiting.

import {once} from "node:events";
import {readFile} from "node:fs/promises";
import http from "node:http";
import {fileURLToPath} from "node:url";

export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; " +
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'";
export const PAGE = fileURLToPath(new URL("../../src/server/page/", import.meta.url));
// The libraries of the page, at Debian's paths.
export const LIBRARIES = {
  "marked.js": "/usr/share/javascript/marked/marked.umd.min.js",
  "highlight.js": "/usr/share/javascript/highlight.js/highlight.min.js",
  "katex.js": "/usr/share/javascript/katex/katex.js",
};
const TYPES = {html: "text/html; charset=utf-8", css: "text/css; charset=utf-8",
               js: "text/javascript; charset=utf-8"};

// A chat request whose answer the test gives.
class Ask {
  constructor(request, reply, body) {
    this.request = request;
    this.reply = reply;
    this.body = body;
    this.gone = once(reply, "close");
  }

  begin() {
    this.reply.writeHead(200, {"Content-Type": "text/event-stream"});
    this.send({choices: [{index: 0, delta: {role: "assistant", content: ""}}]});
  }

  send(chunk) {
    this.reply.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  delta(delta) {
    if (!this.reply.headersSent) this.begin();
    this.send({choices: [{index: 0, delta, finish_reason: null}]});
  }

  say(...pieces) {
    for (const content of pieces) this.delta({content});
  }

  // Reports how much of the prompt has been read.
  progress(progress) {
    this.send({choices: [], prompt_progress: progress});
  }

  think(...pieces) {
    for (const piece of pieces) this.delta({reasoning_content: piece});
  }

  // Sends a call: its name, then its arguments in pieces.
  call(index, name, ...pieces) {
    this.delta({tool_calls: [{index, id: `call_${index}`, type: "function",
                              function: {name, arguments: ""}}]});
    for (const piece of pieces) {
      this.delta({tool_calls: [{index, function: {arguments: piece}}]});
    }
  }

  end({finish = "stop", usage, timings} = {}) {
    this.send({choices: [{index: 0, delta: {}, finish_reason: finish}]});
    this.send({choices: [], usage: usage || {
      prompt_tokens: 31, completion_tokens: 42, total_tokens: 73,
      prompt_tokens_details: {cached_tokens: 16},
    }, timings});
    this.reply.end("data: [DONE]\n\n");
  }

  cut() {
    this.reply.destroy();
  }

  refuse(status, error, headers = {}) {
    this.reply.writeHead(status, {"Content-Type": "application/json", ...headers});
    this.reply.end(JSON.stringify({error: {type: "x", param: null, code: "x", ...error}}));
  }
}

export class Stub {
  // loading: there is no model yet; key: the required key; models: the list of /v1/models.
  static async start({loading = false, key = "", models} = {}) {
    const stub = new Stub();
    stub.asks = [];      // requests that no test has taken
    stub.takers = [];    // tests that wait for a request
    stub.loading = loading;
    stub.key = key;
    stub.models = models ?? [{id: "stub", max_model_len: 4096}];
    stub.server = http.createServer((request, reply) => stub.handle(request, reply));
    stub.server.listen(0, "127.0.0.1");
    await once(stub.server, "listening");
    stub.url = `http://127.0.0.1:${stub.server.address().port}`;
    return stub;
  }

  stop() {
    for (const {reject} of this.takers.splice(0)) reject(new Error("no chat request came"));
    this.server.closeAllConnections();
    this.server.close();
  }

  // Returns the next chat request, as soon as there is one.
  next() {
    if (this.asks.length > 0) return Promise.resolve(this.asks.shift());
    return new Promise((resolve, reject) => this.takers.push({resolve, reject}));
  }

  async handle(request, reply) {
    const path = request.url;
    if (path === "/") return this.file("index.html", reply);
    if (path.startsWith("/page/")) return this.file(path.slice("/page/".length), reply);
    const ask = new Ask(request, reply, null);
    if (this.key && request.headers.authorization !== `Bearer ${this.key}`) {
      return ask.refuse(401, {message: "no such key", code: "invalid_api_key"});
    }
    if (this.loading) {
      return ask.refuse(503, {message: "loading", code: "loading"}, {"Retry-After": "1"});
    }
    if (path === "/v1/models") {
      reply.writeHead(200, {"Content-Type": "application/json"});
      return reply.end(JSON.stringify({object: "list", data: this.models}));
    }
    if (path !== "/v1/chat/completions") return ask.refuse(404, {message: "no such route"});
    let text = "";
    for await (const bytes of request) text += bytes;
    ask.body = JSON.parse(text);
    const taker = this.takers.shift();
    if (taker) taker.resolve(ask);
    else this.asks.push(ask);
  }

  async file(name, reply) {
    try {
      const bytes = await readFile(LIBRARIES[name] ?? PAGE + name);
      reply.writeHead(200, {"Content-Type": TYPES[name.split(".").pop()],
                            "Content-Length": bytes.length,
                            "Content-Security-Policy": POLICY});
      reply.end(bytes);
    } catch {
      reply.writeHead(404);
      reply.end();
    }
  }
}
