// Tests of the page's daily use, in Chromium: files, models, the keyboard, progress, copying, its
// size.

import assert from "node:assert/strict";
import {ended, send} from "./browser.mjs";
import {box, pageTest, says, talk} from "./page_case.mjs";

pageTest("text files go with a message, as text", async (page, stub) => {
  const files = page.locator("#file");
  const text = (name, body) => ({name, mimeType: "text/plain", buffer: Buffer.from(body)});
  await files.setInputFiles([text("a.txt", "one\r\ntwo"), text("b<i>.md", "```\nx\n```\n"),
                             text("c.bin", Buffer.from([0xff, 0xfe, 0])), text("d.x", "a\0b")]);
  await page.getByText(/d.x is not attached: it is no text/).waitFor();
  assert.deepEqual(await page.locator("#files li").allTextContents(), ["a.txt×", "b<i>.md×"]);
  await send(page, "Read.");
  const ask = await stub.next();
  assert.equal(ask.body.messages[0].content,
               "a.txt:\n```\none\ntwo\n```\n\nb<i>.md:\n````\n```\nx\n```\n````\n\nRead.");
  ask.say("Done.");
  ask.end();
  await ended(page);
  assert.ok(!(await page.locator("#files").isVisible()));
  assert.deepEqual(await page.locator("article.user summary").allTextContents(),
                   ["a.txt", "b<i>.md"]);
  await page.getByRole("button", {name: "Edit"}).click();
  await page.getByRole("button", {name: "Remove a.txt"}).click();
  await page.keyboard.press("Escape");
  await page.reload();
  await page.locator("article.user summary").first().waitFor();
  await page.getByRole("button", {name: "Edit"}).click();
  await page.getByRole("button", {name: "Remove a.txt"}).click();
  await box(page).press("Enter");
  const changed = await stub.next();
  assert.ok(changed.body.messages[0].content.startsWith("b<i>.md:"));
  changed.end();
  await ended(page);
  await files.setInputFiles([text("big", "x".repeat(1_000_001))]);
  await page.getByText("big is not attached: it is larger than 1 MB.").waitFor();
});

pageTest("of several models one is chosen, by conversation", async (page, stub) => {
  const choice = page.getByLabel("Model", {exact: true});
  await choice.waitFor();
  assert.deepEqual(await choice.locator("option").allTextContents(),
                   ["small", "large (sleeping)", "odd (failed)"]);
  await choice.selectOption("large");
  assert.equal((await talk(page, stub, "Hi?", "Hi.")).body.model, "large");
  await page.getByRole("button", {name: "New chat"}).click();
  await choice.selectOption("small");
  assert.equal((await talk(page, stub, "Ho?", "Ho.")).body.model, "small");
  await page.locator("#chats .title", {hasText: "Hi?"}).click();
  await page.locator(".said", {hasText: "Hi."}).waitFor();
  assert.equal(await choice.inputValue(), "large");
  await page.reload();
  await choice.waitFor();
  assert.equal(await choice.inputValue(), "large");
  stub.models[1].status.value = "loaded";
  await choice.focus();
  await choice.locator("option", {hasText: /^large$/}).waitFor({state: "attached"});
}, {server: {models: [{id: "small", status: {value: "loaded"}}, {id: "large", max_model_len: 9,
              status: {value: "sleeping"}}, {id: "odd", status: {value: "failed"}}]}});

pageTest("how much of the prompt has been read is told", async (page, stub) => {
  await send(page, "A long one.");
  const ask = await stub.next();
  assert.equal(ask.body.return_progress, true);
  ask.begin();
  ask.progress({total: 12000, cache: 1000, processed: 4000, time_ms: 6000});
  await page.getByText("Reading: 4,000 of 12,000 tokens · about 16 s left").waitFor();
  ask.progress({total: 12000, cache: 1000, processed: 12000, time_ms: 22000});
  await page.getByText("Reading: 12,000 of 12,000 tokens", {exact: true}).waitFor();
  ask.say("Yes.");
  await page.getByText(/^~1 token/).waitFor();
  ask.end();
  await ended(page);
  assert.equal(await page.getByText(/^Reading/).count(), 0);
});

pageTest("keys search, begin a conversation, and change the last message", async (page, stub) => {
  const focused = () => page.evaluate(() => document.activeElement.id);
  await talk(page, stub, "One?", "1");
  await page.keyboard.press("Control+Shift+O");
  await says(page, []);
  assert.equal(await focused(), "prompt");
  await page.keyboard.press("Control+K");
  assert.equal(await focused(), "search");
  await page.keyboard.type("one");
  await page.locator("#chats .told").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".said", {hasText: "One?"}).waitFor();
  await page.locator("#search").fill("");
  await box(page).focus();
  await page.keyboard.press("ArrowUp");
  assert.equal(await box(page).inputValue(), "One?");
  await page.keyboard.press("Escape");
  assert.equal(await box(page).inputValue(), "");
});

pageTest("over plain http answers and code are copied all the same", async (page, stub) => {
  await page.evaluate(() => {
    Object.defineProperty(navigator, "clipboard", {value: undefined});
    document.addEventListener("copy", () => { window.copied = document.activeElement.value; });
  });
  await talk(page, stub, "Code?", "```js\n1 < 2\n```");
  await page.locator(".code").getByRole("button", {name: "Copy"}).click();
  await page.getByText("Copied.").waitFor();
  assert.equal(await page.evaluate(() => window.copied), "1 < 2");
  await page.locator(".below").getByRole("button", {name: "Copy"}).click();
  await page.waitForFunction(() => window.copied === "```js\n1 < 2\n```");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Copied");
});

pageTest("suggestions are for the demo alone", async (page) => {
  await page.getByRole("button", {name: "Tell me a story about a fox and a kite."}).waitFor();
  await page.getByText(/This is the demo/).waitFor();
}, {server: {models: [{id: "demo"}]}});

pageTest("without formulas and code the page is small", async (page, stub) => {
  let bytes = 0;
  const names = [];
  page.on("response", async (response) => {
    names.push(new URL(response.url()).pathname);
    bytes += Number(response.headers()["content-length"] ?? 0);
  });
  await page.reload();
  await page.getByText("stub", {exact: true}).waitFor();
  assert.ok(await page.locator("#demo").isHidden());
  await talk(page, stub, "Hi?", "**Hi**, with $5 and `code`.");
  console.log(`first load: ${bytes} bytes in ${names.length} files`);
  assert.ok(bytes > 50_000 && bytes < 400 * 1024, `${bytes} bytes: ${names.join(" ")}`);
  assert.ok(!names.includes("/page/katex.js") && !names.includes("/page/highlight.js"));
});
