// Tests of the page in Chromium, with a server whose answers the test gives (stub.mjs).

import assert from "node:assert/strict";
import {checkAccess, DESKTOP, ended, PHONE, send, shoot} from "./browser.mjs";
import {box, localNames, pageTest, said, says, talk} from "./page_case.mjs";

pageTest("an answer appears while it comes, with its figures", async (page, stub) => {
  await page.getByText("stub", {exact: true}).waitFor();
  await send(page, "Tell me about foxes.");
  const ask = await stub.next();
  assert.deepEqual(ask.body, {
    messages: [{role: "user", content: "Tell me about foxes."}],
    model: "stub", stream: true, stream_options: {include_usage: true},
    timings_per_token: true, return_progress: true,
  });
  ask.say("Foxes ", "are ");
  await page.locator("#log").getByText("Foxes are").waitFor();
  await page.getByText(/~2 tokens .* first after/).waitFor();
  assert.equal(await page.locator("article.model").getAttribute("aria-busy"), "true");
  ask.say("clever.");
  assert.ok(!(await page.locator(".figures").nth(1).textContent()).includes("tokens/s"));
  ask.end({timings: {predicted_n: 42, predicted_ms: 1000, predicted_per_second: 41.25}});
  await ended(page);
  const figures =
      /^42 tokens · 41\.3 tokens\/s · first after .* s · 16 of 31 prompt tokens cached$/;
  await page.getByText(figures).waitFor();
  await says(page, ["Tell me about foxes.", "Foxes are clever."]);
  await page.getByText("The answer is complete.").waitFor();

  await send(page, "And owls?");
  const second = await stub.next();
  assert.deepEqual(second.body.messages.map((message) => message.role),
                   ["user", "assistant", "user"]);
  second.say("Wise.");
  second.end({finish: "length"});
  await page.getByText(/^Reached the token limit · 42 tokens/).waitFor();
});

pageTest("what the model thinks is folded above its answer, and goes back", async (page, stub) => {
  await send(page, "Foxes?");
  const ask = await stub.next();
  ask.think("They ask ", "about <b>foxes</b>.");
  const fold = page.locator("article.model details");
  const thought = fold.locator(".thought");
  await thought.getByText("They ask about <b>foxes</b>.").waitFor();
  assert.equal(await fold.locator("summary").textContent(), "Thinking");
  assert.ok(await thought.isVisible());
  assert.equal(await page.locator("article.model").getAttribute("aria-busy"), "true");
  ask.say("Clever.");
  await page.locator("#log .said").getByText("Clever.").waitFor();
  await thought.waitFor({state: "hidden"});
  await fold.getByText(/^Thought for (a moment|\d+ s)$/).waitFor();

  // The reader controls the fold from here on, and new text leaves it as it is.
  await fold.locator("summary").focus();
  await page.keyboard.press("Enter");
  await thought.waitFor();
  ask.say(" Very.");
  await page.locator("#log .said").getByText("Clever. Very.").waitFor();
  ask.end();
  await ended(page);
  assert.ok(await thought.isVisible());
  assert.deepEqual(await thought.locator("*").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.localName), "summary");

  await page.reload();
  await fold.getByText(/^Thought for/).waitFor();
  assert.ok(!(await thought.isVisible()));
  assert.equal(await thought.textContent(), "They ask about <b>foxes</b>.");
  await says(page, ["Foxes?", "Clever. Very."]);
  await send(page, "Owls?");
  const second = await stub.next();
  assert.deepEqual(second.body.messages, [
    {role: "user", content: "Foxes?"},
    {role: "assistant", content: "Clever. Very.",
     reasoning_content: "They ask about <b>foxes</b>."},
    {role: "user", content: "Owls?"},
  ]);

  // Reasoning without an answer stays open, since there is nothing else.
  second.think("Owls");
  await page.locator(".thought").getByText("Owls").waitFor();
  await page.keyboard.press("Escape");
  await ended(page);
  assert.equal(await page.locator("summary").last().textContent(), "Thought");
  assert.ok(await page.locator(".thought").last().isVisible());
  await page.getByRole("button", {name: "Retry"}).click();
  const third = await stub.next();
  assert.deepEqual(third.body.messages, second.body.messages);
  third.say("Wise.");
  third.end();
  await ended(page);
  assert.equal(await page.locator("details:visible").count(), 1);
});

pageTest("calls are shown with their name and arguments", async (page, stub) => {
  await send(page, "Read it.");
  const ask = await stub.next();
  ask.think("I read.");
  ask.say("I look.");
  ask.call(0, "read", '{"path": ', '"<img src=x>"}');
  ask.call(1, "ping", "{}");
  ask.end({finish: "tool_calls"});
  await ended(page);
  const read = page.getByRole("region", {name: "Arguments of read"});
  const check = async () => {
    assert.equal(await read.textContent(), '{"path": "<img src=x>"}');
    assert.deepEqual(await page.locator(".calls .code-head span").allTextContents(),
                     ["Calls read", "Calls ping"]);
    assert.equal(await page.locator("img").count(), 0);
  };
  await check();
  await page.reload();
  await check();
  await send(page, "And?");
  const second = await stub.next();
  assert.deepEqual(second.body.messages[1],
                   {role: "assistant", content: "I look.", reasoning_content: "I read."});
  second.end();
  await ended(page);
});

pageTest("Stop and Esc end an answer and its request", async (page, stub) => {
  await send(page, "A long story.");
  const first = await stub.next();
  first.say("Once ");
  await page.locator("#log").getByText("Once").waitFor();
  await page.getByRole("button", {name: "Stop"}).click();
  await first.gone;
  await page.locator(".figures", {hasText: /^Stopped/}).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");

  await page.getByRole("button", {name: "Retry"}).click();
  const again = await stub.next();
  assert.deepEqual(again.body, first.body);
  again.say("Twice ");
  await page.locator("#log").getByText("Twice").waitFor();
  await page.keyboard.press("Escape");
  await again.gone;
  await ended(page);
  await says(page, ["A long story.", "Twice "]);
});

pageTest("what another page has stored is shown as far as it is known", async (page) => {
  await page.evaluate(() => localStorage.setItem("hearth.chat", JSON.stringify([
    {role: "user", text: "One?"},
    {role: "model", text: "1", reasoning: {}, calls: [null, {name: "x"}], figures: {thought: "x"}},
    {role: "user", text: "Two?"},
    {role: "model", text: "2", reasoning: "Two.", calls: [{name: "add", arguments: "{}"}]},
  ])));
  await page.reload();
  await page.locator("details:visible").getByText("Thought", {exact: true}).waitFor();
  await says(page, ["One?", "1", "Two?", "2"]);
  assert.equal(await page.locator("details:visible").count(), 1);
  assert.equal(await page.locator(".calls:visible").textContent(), "Calls addCopy{}");
});

pageTest("a conversation outlives a reload, in an answer too", async (page, stub) => {
  await send(page, "First.");
  const first = await stub.next();
  first.say("An answer.");
  first.end();
  await ended(page);
  await send(page, "Second.");
  const second = await stub.next();
  second.say("Half an");
  await page.locator("#log").getByText("Half an").waitFor();
  await page.reload();
  await second.gone;
  await page.getByText(/^Cut short when the page was left/).waitFor();
  await says(page, ["First.", "An answer.", "Second.", "Half an"]);
  await page.getByText(/^42 tokens/).waitFor();

  await page.getByRole("button", {name: "New chat"}).click();
  await says(page, []);
  await page.reload();
  await page.getByText("What would you like to talk about?").waitFor();
  await says(page, []);
});

pageTest("changing a message can be given up", async (page, stub) => {
  await talk(page, stub, "One?", "1");
  await talk(page, stub, "Two?", "2");
  await page.getByRole("button", {name: "Edit"}).first().click();
  assert.equal(await box(page).inputValue(), "One?");
  await page.keyboard.press("Escape");
  assert.equal(await box(page).inputValue(), "");
  assert.equal((await said(page)).length, 4);
});

pageTest("settings go with every request; the key stays in its tab", async (page, stub) => {
  await page.getByText("This server asks for an API key.").waitFor();
  await page.getByRole("button", {name: "Enter a key"}).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "key");
  await page.getByLabel("API key").fill("sesame");
  await page.getByLabel("System prompt").fill("Be brief.");
  await page.getByLabel("Temperature").fill("0.7");
  await page.getByLabel("Top-p").fill("0.9");
  await page.getByLabel("Top-k").fill("40");
  await page.getByLabel("Min-p").fill("0.05");
  await page.getByLabel("Most tokens").fill("99");
  await page.getByLabel("Seed").fill("7");
  await page.getByRole("button", {name: "Done"}).click();
  await page.getByText("stub", {exact: true}).waitFor();
  await page.reload();
  await page.getByText("stub", {exact: true}).waitFor();
  await send(page, "Hello");
  const ask = await stub.next();
  assert.equal(ask.request.headers.authorization, "Bearer sesame");
  assert.deepEqual(ask.body, {
    messages: [{role: "system", content: "Be brief."}, {role: "user", content: "Hello"}],
    model: "stub", temperature: 0.7, top_p: 0.9, top_k: 40, min_p: 0.05, max_tokens: 99, seed: 7,
    stream: true, stream_options: {include_usage: true}, timings_per_token: true,
    return_progress: true,
  });
  ask.say("Hi.");
  ask.end();
  await ended(page);
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes("sesame"));

  await page.getByRole("button", {name: "Settings"}).click();
  await page.getByLabel("Temperature").fill("9");
  await page.getByRole("button", {name: "Done"}).click();   // refused: 9 is not allowed
  assert.ok(await page.locator("#settings").evaluate((drawer) => drawer.open));
  await page.getByRole("button", {name: "Back to the defaults"}).click();
  await page.getByRole("button", {name: "Done"}).click();
  await page.getByRole("button", {name: "Retry"}).click();
  const bare = await stub.next();
  assert.deepEqual(Object.keys(bare.body).sort(),
                   ["messages", "model", "return_progress", "stream", "stream_options",
                    "timings_per_token"]);
  bare.end();
  await ended(page);
}, {server: {key: "sesame"}});

pageTest("what goes wrong is said in plain words and can be tried again", async (page, stub) => {
  await page.getByText("stub", {exact: true}).waitFor();
  const retry = page.getByRole("button", {name: "Retry"});
  const trouble = page.locator(".trouble:not([hidden])");
  const half = page.locator("#log").getByText("Half");
  await page.route("**/chat/completions", (route) => route.abort("connectionrefused"), {times: 1});
  await send(page, "Hello");
  await trouble.filter({hasText: "The server can’t be reached. Is it still running?"}).waitFor();
  await retry.click();
  for (const [fail, words] of [
    [(ask) => ask.refuse(429, {message: "64 wait"}, {"Retry-After": "3"}),
     "The server is busy. Try again in 3 seconds.64 wait"],
    [(ask) => ask.refuse(503, {message: "", code: "loading"}, {"Retry-After": "1"}),
     "The model is still loading. Try again in a second."],
    [(ask) => ask.refuse(503, {message: "", code: "draining"}), "The server is shutting down."],
    [(ask) => ask.refuse(400, {message: "512 at most", code: "context_length_exceeded"}),
     "This conversation has become longer than the model can read. Start a new chat, or shorten " +
         "it.512 at most"],
    [(ask) => ask.refuse(500, {message: "it broke"}), "The server failed to answer.it broke"],
    [(ask) => ask.refuse(404, {message: "no model x"}),
     "The server doesn’t know this model. Reload the page.no model x"],
    [async (ask) => { ask.say("Half"); await half.waitFor(); ask.cut(); },
     "The connection was lost before the answer was complete."],
    [(ask) => { ask.say("Half"); ask.reply.end(); },
     "The connection was lost before the answer was complete."],
    [(ask) => { ask.say("Half"); ask.send({error: {message: "out of pages"}}); ask.reply.end(); },
     "The server could not finish the answer.out of pages"],
  ]) {
    const ask = await stub.next();
fail(ask);
    await trouble.filter({hasText: words}).waitFor();
    assert.equal(await trouble.locator("p").textContent(), words);
    await retry.click();
  }
  const ask = await stub.next();
  assert.deepEqual(ask.body.messages, [{role: "user", content: "Hello"}]);
  ask.say("At last.");
  ask.end();
  await ended(page);
  assert.equal(await trouble.count(), 0);
});

pageTest("a model that is still loading is waited for", async (page, stub) => {
  await page.getByText("The model is still loading.").waitFor();
  stub.loading = false;
  await page.getByText("stub", {exact: true}).waitFor();
  await page.locator("#notice").waitFor({state: "hidden"});
}, {server: {loading: true}});

const HOSTILE = [
  "<img src=x onerror=\"document.title='owned'\">",
  "<script>document.title='owned'</script>",
  "<style>body { display: none }</style><iframe srcdoc='<script>1</script>'></iframe>",
  "[click](javascript:document.title='owned') ![x](http://127.0.0.1:1/x.png)",
  "`<b>`, **<i onclick=x>**, # <u>",
  "```html\"><img src=x onerror=y>\n</code></pre><script>document.title='owned'</script>\n```",
];

pageTest("model text is never HTML", async (page, stub) => {
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  await send(page, HOSTILE[0]);
  const ask = await stub.next();
  for (const character of HOSTILE.join("\n\n")) ask.say(character);
  ask.end();
  await ended(page);
  const names = await page.locator(".said *").evaluateAll(localNames);
  const known = "p code strong em div span button pre h3 ul ol li a".split(" ");
  assert.deepEqual(names.filter((name) => !known.includes(name)), []);
  assert.equal(await page.title(), "Hearth");
  const answer = await page.locator("article.model .said").textContent();
  for (const text of ["<img src=x onerror=", "<script>", "<iframe", "javascript:", "</pre>"]) {
    assert.ok(answer.includes(text), text);
  }
  assert.ok((await page.locator("article.user .said").textContent()).includes("onerror"));
  assert.deepEqual(requests.filter((url) => !url.startsWith(stub.url)), []);
  await page.reload();
  assert.equal(await page.title(), "Hearth");
  await shoot(page, "hostile");
});

const MARKED = "# A plan\n\nFoxes are **quick**, *quiet* and `clever`:\n\n1. wait,\n2. look,\n" +
    "3. leap.\n\n- and rest\n\n```python\ndef leap(height):\n" +
    "    return height * 2  # **not** bold\n```\n\n" +
    "That is *all* there is to say about 2 * 3 * 4, **and";

pageTest("code, lists and marks become nodes", async (page, stub) => {
  await send(page, "Plan?");
  const ask = await stub.next();
  for (const piece of MARKED.match(/[^]{1,3}/g)) ask.say(piece);
  ask.end();
  const answer = (await ended(page)).locator(".said");
  assert.deepEqual(await answer.locator("> *").evaluateAll(localNames),
                   ["h3", "p", "ol", "ul", "div", "p"]);
  assert.deepEqual(await answer.locator("strong, em, p code").allTextContents(),
                   ["quick", "quiet", "clever", "all"]);
  assert.equal(await answer.locator("pre").textContent(),
               "def leap(height):\n    return height * 2  # **not** bold");
  assert.equal(await answer.locator("> p").last().textContent(),
               "That is all there is to say about 2 * 3 * 4, **and");
});

pageTest("answers and code can be copied", async (page, stub) => {
  await send(page, "Plan?");
  const ask = await stub.next();
  ask.say(MARKED);
  ask.end();
  await ended(page);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.locator(".below").getByRole("button", {name: "Copy"}).click();
  await page.getByText("Copied.").waitFor();
  assert.equal(await copied(), MARKED);
  await page.locator(".code").getByRole("button", {name: "Copy"}).click();
  await page.locator(".code").getByRole("button", {name: "Copied"}).waitFor();
  assert.equal(await copied(), "def leap(height):\n    return height * 2  # **not** bold");
}, {page: {permissions: ["clipboard-read", "clipboard-write"]}});

pageTest("the view follows an answer, but not a reader who went back", async (page, stub) => {
  const place = () => page.evaluate(() => [window.scrollY, document.documentElement.scrollHeight -
                                                           window.innerHeight]);
  await send(page, "A long story.");
  const ask = await stub.next();
  ask.say("A line.\n\n".repeat(100), "The middle.");
  await page.getByText("The middle.").waitFor();
  const [at, end] = await place();
  assert.ok(end > 1000 && end - at < 2, `${at} of ${end}`);
  await page.evaluate(() => window.scrollTo(0, 50));
  ask.say("\n\nA line.".repeat(100), "\n\nThe end.");
  await page.getByText("The end.").waitFor();
  ask.end();
  await ended(page);
  assert.equal((await place())[0], 50);
});

pageTest("everything can be done with the keyboard", async (page, stub) => {
  const focus = () => page.evaluate(() => {
    const node = document.activeElement;
    return node.id || node.textContent.trim();
  });
  await page.waitForFunction(() => document.activeElement.id === "prompt");
  await page.keyboard.type("Line one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("line two");
  assert.equal(await box(page).inputValue(), "Line one\nline two");
  await page.keyboard.press("Enter");
  const ask = await stub.next();
  assert.equal(ask.body.messages[0].content, "Line one\nline two");
  ask.say("Good.");
  await page.locator("#log").getByText("Good.").waitFor();
  await page.keyboard.type("typed meanwhile");
  await page.keyboard.press("Enter");   // ignored while an answer comes
  await page.keyboard.press("Tab");
  assert.equal(await focus(), "stop");
  await page.keyboard.press("Enter");
  await ask.gone;
  await ended(page);
  assert.equal(await focus(), "prompt");
  assert.equal(await box(page).inputValue(), "typed meanwhile");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focus(), "attach");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focus(), "Retry");
  await page.keyboard.press("Enter");
  const again = await stub.next();
  again.say("Better.");
  again.end();
  await ended(page);
  assert.equal(await focus(), "prompt");

  await page.locator("#open-settings").focus();
  await page.keyboard.press("Enter");
  await page.locator("#settings[open]").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#settings:not([open])").waitFor({state: "attached"});
  assert.equal(await focus(), "open-settings");
});

for (const [size, viewport] of Object.entries({desktop: DESKTOP, phone: PHONE})) {
  for (const colorScheme of ["light", "dark"]) {
    const name = `${size}-${colorScheme}`;
    pageTest(`axe-core finds nothing: ${name}`, async (page, stub) => {
      await page.getByText("stub", {exact: true}).waitFor();
      await checkAccess(page, "welcome");
      await shoot(page, `${name}-welcome`);
      await send(page, "How does a fox plan its day? Answer with a list and some code, please.");
      const ask = await stub.next();
      ask.think("A list, ", "and some code.\n\nWhat does a fox do all day?");
      await page.getByText("all day?").waitFor();
      await checkAccess(page, "while the model thinks");
      await shoot(page, `${name}-thinking`);
      ask.say(...MARKED.match(/[^]{1,3}/g));
      await page.getByText("**and").waitFor();
      await checkAccess(page, "while an answer comes");
      await shoot(page, `${name}-answering`);
      ask.call(0, "leap", '{"height": 2, "over": "the lazy dog, who lies in the way"}');
      ask.end();
      await ended(page);
      await send(page, "Go on.");
      (await stub.next()).refuse(429, {message: "64 requests wait already"}, {"Retry-After": "2"});
      await page.getByText(/The server is busy/).waitFor();
      await page.getByRole("button", {name: "Edit"}).last().click();
      await checkAccess(page, "a conversation with trouble");
      await shoot(page, `${name}-trouble`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth -
                                             window.innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels wider than the screen`);
      await page.getByRole("button", {name: "Settings"}).click();
      await checkAccess(page, "settings");
      await shoot(page, `${name}-settings`);
        }, {page: {viewport, colorScheme, hasTouch: size === "phone"}});
  }
}
