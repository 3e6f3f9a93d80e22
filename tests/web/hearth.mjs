// Starts `hearth serve` for a test, and reads its metrics. HEARTH names the program.

import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {dirname, join} from "node:path";
import {createInterface} from "node:readline";
import {fileURLToPath} from "node:url";

// The limit only ends tests that hang; no test depends on how long anything takes.
export const limit = {timeout: 300000};

export const program = process.env.HEARTH ||
                       fileURLToPath(new URL("../../build/release/hearth", import.meta.url));
// The model that is served by default.
export const demo = fileURLToPath(new URL("../../assets/demo.gguf", import.meta.url));
const calls = fileURLToPath(new URL("../../tests/templates/qwen3.jinja", import.meta.url));
const thinks = "{%- if add_generation_prompt and enable_thinking is not false %}" +
               "{{ '<think>\\n' }}{% endif %}";
const fakeHub = fileURLToPath(new URL("../../tests/store/fake_hub.py", import.meta.url));
const makeModels = new URL("../../tests/golden/make_models.py", import.meta.url);
const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

// A server at a free port, with the demo model unless `args` name another.
export class Hearth {
  static start(...args) {
    return Hearth.run(program, "serve", "--port", "0", ...args);
  }

  // Starts the server with a stub of an engine, whose replies are in its chats
  // (tests/server/scripted_turn.h). It is built beside the program.
  static startScripted() {
    return Hearth.run(join(dirname(program), "stub_serve"), "0", "turns");
  }

  static async run(command, ...args) {
    const server = new Hearth();
    server.child = spawn(command, args, {stdio: ["ignore", "ignore", "pipe"]});
    children.add(server.child);
    server.log = [];
    server.ended = new Promise((resolve) => {
      server.child.once("error", (error) => resolve(error.message));
      server.child.once("exit", (code, signal) => resolve(code ?? signal));
    });
    server.ended.then(() => children.delete(server.child));
    const listening = new Promise((resolve) => {
      createInterface({input: server.child.stderr}).on("line", (line) => {
        server.log.push(line);
        const match = line.match(/serving (.+) at (http:\/\/\S+?)\/?$/);
        if (match) resolve(match);
      });
    });
    const match = await Promise.race([listening, server.ended]);
    assert.ok(Array.isArray(match), `${command} ended with ${match}:\n${server.log.join("\n")}`);
    [, server.model, server.url] = match;
    [server.model] = server.model.split(" and ");   // the one for text
    // A failed test leaves its server running, which must not keep this process alive.
    server.child.unref();
    server.child.stderr.unref();
    return server;
  }

  // Starts a server whose chat template shows calls, and begins with reasoning unless a request
  // turns it off. The demo model learnt neither. So calls come where the grammar makes them, and
  // its reasoning goes on to the end.
  static async startCaller(...args) {
    const folder = mkdtempSync(join(tmpdir(), "hearth-template-"));
    const template = join(folder, "caller.jinja");
    writeFileSync(template, readFileSync(calls, "utf8") + thinks);
    try {
      return await Hearth.start("--chat-template", template, ...args);
    } finally {
      rmSync(folder, {recursive: true});
    }
  }

  // Starts a tiny reranker of random weights, which the reference's Python makes.
  static async startReranker(...args) {
    const folder = mkdtempSync(join(tmpdir(), "hearth-reranker-"));
    const name = "bert-f32-rank";
    try {
      execFileSync("/usr/bin/python3", [fileURLToPath(makeModels), folder, name],
                   {stdio: ["ignore", "ignore", "inherit"]});
      return await Hearth.start(join(folder, `${name}.gguf`), ...args);
    } finally {
      rmSync(folder, {recursive: true});
    }
  }

  // Starts a server of all models of a machine that has none; clients pull them from `endpoint`.
  static startStock(home, endpoint) {
    return Hearth.run("env", `HOME=${home}`, `HF_HUB_CACHE=${home}/hub`, `HF_ENDPOINT=${endpoint}`,
                      "HF_TOKEN=", `OLLAMA_MODELS=${home}/none`, program, "serve", "--port", "0",
                      "--models", "--allow-pull");
  }

  async stop() {
    this.child.ref();
    this.child.kill("SIGTERM");
    assert.equal(await this.ended, 0, `the server's end:\n${this.log.join("\n")}`);
  }

  fetch(path, options) {
    return fetch(this.url + path, options);
  }

  // Sends a value as JSON, by POST or another method.
  post(path, body, headers = {}, method = "POST") {
    return this.fetch(path, {
      method,
      headers: {"Content-Type": "application/json", ...headers},
      body: JSON.stringify(body),
    });
  }

  // Returns the value of a metric; the sum where it has several labels.
  async metric(name) {
    const text = await (await this.fetch("/metrics")).text();
    const values = text.split("\n").filter((line) => line.startsWith(name + " ") ||
                                                     line.startsWith(name + "{"));
    assert.ok(values.length > 0, `no metric ${name} in:\n${text}`);
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  // Reads the metric until wanted() accepts it.
  async until(name, wanted) {
    while (!wanted(await this.metric(name)));
  }

  // Waits until the server has nothing to do.
  async idle() {
    await this.until("hearth_requests_waiting", (waiting) => waiting === 0);
    await this.until("hearth_requests_running", (running) => running === 0);
  }
}

// Starts a hub on this machine with these files (NAME=PATH); returns its address. It ends with its
// standard input.
export async function startHub(...files) {
  const hub = spawn("python3", [fakeHub, ...files], {stdio: ["pipe", "pipe", "inherit"]});
  for await (const endpoint of createInterface({input: hub.stdout})) return {hub, endpoint};
  throw new Error("the hub does not start");
}

// Yields the events of an SSE answer as parsed JSON; "[DONE]" stays as it is.
export async function* events(reply) {
  let rest = "";
  for await (const bytes of reply.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + bytes).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (part.startsWith(":")) continue;
      const match = part.match(/^(?:event: ([^\n]*)\n)?data: ([^\n]*)$/);
      assert.ok(match, part);
      const [, name, data] = match;
      const event = data === "[DONE]" ? data : JSON.parse(data);
      if (name !== undefined) assert.equal(name, event.type);
      yield event;
    }
  }
  assert.equal(rest, "");
}
