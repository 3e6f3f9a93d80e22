// Runs the examples of README.md and of the pages that it links to, as a user would paste them, but
// for the port.

import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {readFile, writeFile} from "node:fs/promises";
import {after, before, test} from "node:test";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";
import {Hearth, limit} from "./hearth.mjs";

const run = promisify(execFile);
let server;
let caller;  // its template shows tools, unlike the demo model's
let reranker;
const pages = ["README.md", "docs/structured-output.md", "docs/tools.md", "docs/rerank.md"];
let text;
before(async () => {
  [server, caller, reranker] =
      await Promise.all([Hearth.start(), Hearth.startCaller(), Hearth.startReranker()]);
  const read = (page) => readFile(new URL(`../../${page}`, import.meta.url), "utf8");
  text = (await Promise.all(pages.map(read))).join("\n");
});
after(() => Promise.all([server?.stop(), caller?.stop(), reranker?.stop()]));

const hasTools = (example) => example.includes('"tools"');
const ranks = (example) => example.includes("/rerank");
const serverOf = (example) => ranks(example) ? reranker : hasTools(example) ? caller : server;

// Returns the blocks of one language, each with the address of its server.
function examples(language) {
  const found = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
      .filter((match) => match[1] === language)
      .map(([, , code]) => code.replaceAll("http://127.0.0.1:8080",
                                           serverOf(code).url));
  assert.ok(found.length > 0, `no ${language} in ${pages}`);
  return found;
}

test("curl", limit, async () => {
  for (const example of examples("sh")) {
    const {stdout} = await run("bash", ["-euc", example]);
    if (ranks(example)) {
      assert.equal(JSON.parse(stdout).results.length, 1, stdout);
      continue;
    }
    const {message} = JSON.parse(stdout).choices[0];
    if (hasTools(example)) {
      // The model chooses the words, so only their presence is checked.
      assert.ok(message.content || message.reasoning_content || message.tool_calls, stdout);
    } else {
      assert.match(message.content, /\w{3}/);
    }
  }
});

test("openai", limit, async () => {
  for (const example of examples("js")) {
    const file = fileURLToPath(new URL("readme_example.mjs", import.meta.url));
    await writeFile(file, example);
    const {stdout} = await run(process.execPath, [file]);
    assert.match(stdout, /\w{3}/);
  }
});
