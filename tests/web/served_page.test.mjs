// Tests the page as `hearth serve` sends it: the files of the source tree with their policy, and
// conversations with the demo model and with a stub of an engine whose reasoning is scripted.

import assert from "node:assert/strict";
import {readdir, readFile} from "node:fs/promises";
import {after, before, test} from "node:test";
import {Browser, ended, send, shoot} from "./browser.mjs";
import {Hearth, limit} from "./hearth.mjs";
import {LIBRARIES, PAGE, POLICY} from "./stub.mjs";

let server;
let browser;
before(async () => {
  server = await Hearth.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

test("every file of the page is served as it is, with a strict policy", limit, async () => {
  const files = (await readdir(PAGE)).map((name) => [name, PAGE + name]);
  for (const [name, path] of [...files, ...Object.entries(LIBRARIES)]) {
    const reply = await server.fetch(name === "index.html" ? "/" : `/page/${name}`);
    assert.equal(reply.status, 200, name);
    assert.ok(await reply.text() === await readFile(path, "utf8"), `${name} is another one`);
    assert.equal(reply.headers.get("content-security-policy"), POLICY);
    assert.equal(reply.headers.get("x-content-type-options"), "nosniff");
    assert.equal(reply.headers.get("access-control-allow-origin"), null);
  }
  assert.equal((await server.fetch("/page/none.js")).status, 404);
  assert.equal((await server.fetch("/page/%2e%2e/page.h")).status, 404);
});

test("a conversation: type, stream, stop, go on, reload", limit, async () => {
  const page = await browser.open(server.url);
  await page.getByText(server.model, {exact: true}).waitFor();
  await page.getByRole("button", {name: "Tell me a story about a fox and a kite."}).click();
  await ended(page);
  const told = page.locator(".figures", {hasText: /^.*\d+ tokens · .* tokens\/s · first after/});
  await told.first().waitFor();
  // The log has lines such as "... 24 (0 cached) + 64 tokens, ..., first token 0.031 s, 53.3
  // tokens/s".
  const line = server.log.filter((one) => one.includes("/v1/chat/completions 200")).at(-1);
  const [, logged] = line.match(/first token [\d.]+ s, ([\d.]+) tokens\/s/).map(Number);
  const [, rate] = (await told.first().textContent()).match(/([\d.,]+) tokens\/s/);
  const shown = Number(rate.replaceAll(",", ""));
  assert.ok(Math.abs(shown - logged) < 0.02 * logged, `${rate}: ${line}`);

  // A story without an end is stopped, unless it reaches the end of the context before.
  await page.route("**/chat/completions", (route) => route.continue({
    postData: JSON.stringify({...route.request().postDataJSON(), ignore_eos: true}),
  }));
  await send(page, "Who found it?");
  await page.locator("article.model").nth(1).locator(".said", {hasText: /\w/}).waitFor();
  await page.keyboard.press("Escape");
  await ended(page);
  await server.idle();

  const texts = await page.locator(".said").allTextContents();
  assert.equal(texts.length, 4);
  assert.match(texts[1], /\w{3}/);
  await page.reload();
  await page.getByText(server.model, {exact: true}).waitFor();
  assert.deepEqual(await page.locator(".said").allTextContents(), texts);
  await shoot(page, "served");
  assert.deepEqual(page.faults, []);
});

test("what a model thinks comes, is folded, and is in the next prompt", limit, async () => {
  const scripted = await Hearth.startScripted();
  try {
    const page = await browser.open(scripted.url);
    await page.getByText(scripted.model, {exact: true}).waitFor();
    await send(page, "SAY(<think>\nA <i>fox</i>?\n</think>\n\nIt sleeps.)YAS");
    await ended(page);
    const answer = page.locator("article.model").first();
    assert.equal(await answer.locator(".said").textContent(), "It sleeps.");
    assert.equal(await answer.locator(".thought").textContent(), "A <i>fox</i>?");
    assert.ok(!(await answer.locator(".thought").isVisible()));
    await answer.locator("summary", {hasText: /^Thought/}).click();
    assert.ok(await answer.locator(".thought").isVisible());

    const next = page.waitForRequest("**/chat/completions");
    await send(page, "SAY(It dreams.)YAS");
    await ended(page);
    const {messages} = (await next).postDataJSON();
    assert.equal(messages[1].reasoning_content, "A <i>fox</i>?");
    assert.equal(await page.locator(".said").last().textContent(), "It dreams.");
    const {prompt} = await (await scripted.post("/apply-template", {messages})).json();
    assert.match(prompt, /<think>\nA <i>fox<\/i>\?\n<\/think>\n\nIt sleeps\./);
    assert.deepEqual(page.faults, []);
  } finally {
    await scripted.stop();
  }
});
