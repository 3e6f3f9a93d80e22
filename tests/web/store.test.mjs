// Tests that Hugging Face's client reads the files of `hearth pull`, and that Hearth reads that
// client's files.

import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {mkdtempSync, readFileSync, realpathSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {promisify} from "node:util";
import {downloadFileToCacheDir, scanCacheDir} from "@huggingface/hub";
import {demo, limit, program, startHub} from "./hearth.mjs";

const run = promisify(execFile);
let home, hub, endpoint;

before(async () => {
  home = mkdtempSync(join(tmpdir(), "hearth-store-"));
  ({hub, endpoint} = await startHub(`m-Q4_0.gguf=${demo}`));
});
after(() => {
  hub?.stdin.end();
  rmSync(home, {recursive: true});
});

function hearth(cache, ...words) {
  const env = {...process.env, HOME: home, HF_ENDPOINT: endpoint, HF_HUB_CACHE: cache,
               OLLAMA_MODELS: join(home, "none"), HF_TOKEN: "", HF_HOME: home};
  return run(program, words, {env});
}

test("the client finds what was pulled", limit, async () => {
  const cache = join(home, "ours");
  await hearth(cache, "pull", "org/model");
  const found = await scanCacheDir(cache);
  assert.deepEqual(found.warnings, []);
  assert.equal(found.repos.length, 1);
  const [repo] = found.repos;
  assert.deepEqual(repo.id, {name: "org/model", type: "model"});
  assert.equal(repo.size, readFileSync(demo).length);
  const [revision] = repo.revisions;
  assert.deepEqual(revision.refs, ["main"]);
  assert.deepEqual(revision.files.map((file) => file.path.split("/").at(-1)), ["m-Q4_0.gguf"]);
});

test("what the client loaded is found, and not loaded again", limit, async () => {
  const cache = join(home, "theirs");
  const path = await downloadFileToCacheDir(
      {repo: "org/model", path: "m-Q4_0.gguf", hubUrl: endpoint, cacheDir: cache});
  const {stdout} = await hearth(cache, "list", "--json");
  const [model] = JSON.parse(stdout).models;
  assert.equal(model.name, "org/model:Q4_0");
  assert.equal(model.runs, true);
  assert.equal(realpathSync(model.path), realpathSync(path));
  const pulled = JSON.parse((await hearth(cache, "pull", "org/model", "--json")).stdout);
  assert.equal(pulled.fetched, 0);
  assert.equal(pulled.path, model.path);
});
