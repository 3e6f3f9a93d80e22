// Runs Claude Code, Codex and opencode against the server with a stub for its engine. Each is set
// up and called as docs/agents.md says, but for the port. The project's instructions, which an
// agent sends to the model, contain a script. It tells the stub to call the agent's own tool on a
// file, and then to say the word in that file (tests/server/scripted_turn.h).

import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {once} from "node:events";
import {mkdir, mkdtemp, readFile, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {dirname, join} from "node:path";
import {test} from "node:test";
import {fileURLToPath} from "node:url";
import {program, Hearth, limit} from "./hearth.mjs";

const agents = [
  {name: "Claude Code", command: "claude", word: "marmalade", route: "/v1/messages",
   instructions: "CLAUDE.md", call: (note) => ({name: "Read", arguments: {file_path: note}})},
  {name: "Codex", command: "codex", word: "cinnamon", route: "/v1/responses",
   instructions: "AGENTS.md",
   call: (note) => ({name: "exec_command", arguments: {cmd: `cat ${note}`}})},
  {name: "opencode", command: "opencode", word: "tangerine", route: "/v1/chat/completions",
   instructions: "AGENTS.md", call: (note) => ({name: "read", arguments: {filePath: note}})},
];
const page = await readFile(new URL("../../docs/agents.md", import.meta.url), "utf8");
const programs = fileURLToPath(new URL("bin", import.meta.url));
const mostSeconds = 240;   // of one agent: far above what any needs

// Returns an agent's section of the page: the files to be written below HOME, and the commands.
function section(name, url) {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${name}\n`));
  assert.ok(text, `no section ${name} in docs/agents.md`);
  const local = text.replaceAll("http://127.0.0.1:8080", url);
  const files = [...local.matchAll(/`~\/(\S+)`:\n\n```\w+\n([^]*?)^```/gm)];
  const commands = [...local.matchAll(/^```sh\n([^]*?)^```/gm)].map((match) => match[1]);
  assert.ok(commands.length > 0, `no commands for ${name} in docs/agents.md`);
  return {files: files.map(([, path, content]) => ({path, content})),
          commands: commands.join("")};
}

async function write(folder, path, content) {
  const file = join(folder, path);
  await mkdir(dirname(file), {recursive: true});
  await writeFile(file, content);
  return file;
}

// Runs the commands in a separate environment, so that no settings of this user reach the agent.
function run(commands, home, folder) {
  const env = {HOME: home, PATH: `${programs}:${dirname(process.execPath)}:/usr/bin:/bin`,
               LANG: "C.UTF-8"};
  const args = ["--kill-after=10", mostSeconds, "bash", "--norc", "-euc", commands];
  return new Promise((resolve) => {
    const {stdin} = execFile(
        "timeout", args, {cwd: folder, env, maxBuffer: 1 << 26}, (error, stdout, stderr) =>
          resolve({status: error ? error.code ?? error.signal : 0, stdout, stderr}));
    stdin.end();
  });
}

// Returns the log's lines of texts that a route produced, with short prompts first.
const turns = (log, route) => log.filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.path === route && entry.generated_tokens !== undefined)
    .sort((a, b) => a.prompt_tokens - b.prompt_tokens);

for (const {name, command, word, route, instructions, call} of agents) {
  test(`${name} reads a file and tells of it`, limit, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "hearth-agent-"));
    const server = await Hearth.run(join(dirname(program), "stub_serve"), "0", "agents");
    const read = once(server.child, "close");   // the server's whole log
    try {
      const {files, commands} = section(name, server.url);
      for (const {path, content} of files) await write(folder, `home/${path}`, content);
      const note = await write(folder, "project/note.txt", `The secret word is ${word}.\n`);
      await write(folder, `project/${instructions}`,
                  `SAY(<think>\nI look.\n</think>\n\n<tool_call>\n${JSON.stringify(call(note))}\n` +
                  "</tool_call>)YAS SAY(I read BEHIND(secret word is ).)YAS\n");
      assert.match(commands, new RegExp(`^${command} `, "m"));
      const {status, stdout, stderr} =
          await run(commands, join(folder, "home"), join(folder, "project"));
      await server.stop();
      await read;
      const told = [`${name} ended with ${status}`, "its output:", stdout, "its errors:", stderr,
                    "the server:", ...server.log].join("\n");
      assert.equal(status, 0, told);
      assert.ok(stdout.includes(`I read ${word}.`), told);

      const asked = turns(server.log, route);
      assert.ok(asked.length >= 2 && asked.every((entry) => entry.status === 200), told);
      const [first, second] = asked.slice(-2);
      assert.ok(second.cached_tokens >= 0.99 * first.prompt_tokens, told);
      const share = 100 * second.cached_tokens / first.prompt_tokens;
      t.diagnostic(`${name}: ${share.toFixed(1)} % of the first prompt's ${first.prompt_tokens} ` +
                   `tokens are there for the second, of ${second.prompt_tokens}`);
    } finally {
      await rm(folder, {recursive: true, force: true});
    }
  });
}
