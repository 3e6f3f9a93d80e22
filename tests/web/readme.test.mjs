// The examples of README.md, as they would be pasted, but for the port.

import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {readFile, writeFile} from "node:fs/promises";
import {after, before, test} from "node:test";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";
import {Hearth, limit} from "./hearth.mjs";

const run = promisify(execFile);
let server;
let readme;
before(async () => {
  server = await Hearth.start();
  readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
});
after(() => server?.stop());

// The blocks of one language, with the address of this server.
function examples(language) {
  const found = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
      .filter((match) => match[1] === language)
      .map((match) => match[2].replaceAll("http://127.0.0.1:8080", server.url));
  assert.ok(found.length > 0, `no ${language} in README.md`);
  return found;
}

test("curl", limit, async () => {
  for (const example of examples("sh")) {
    const {stdout} = await run("bash", ["-euc", example]);
    assert.match(JSON.parse(stdout).choices[0].message.content, /\w{3}/);
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
