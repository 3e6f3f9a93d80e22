// The frame of a test of the page: a server whose answers the test gives (stub.mjs), and a page of
// its own in which no unexpected error may occur.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {isDeepStrictEqual} from "node:util";
import {Browser, ended, send, shoot} from "./browser.mjs";
import {limit} from "./hearth.mjs";
import {Stub} from "./stub.mjs";

let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser?.stop());

// `server`: options of Stub.start(); `page`: options of Browser.open(); prepare(context) runs
// before the page is opened.
export function pageTest(name, body, {server = {}, page: looks = {}} = {}) {
  test(name, limit, async ({signal}) => {
    const stub = await Stub.start(server);
    const page = await browser.open(stub.url, looks);
    signal.addEventListener("abort", () => {
      stub.stop();
      page.context().close();
    });
    try {
      await body(page, stub);
      assert.deepEqual(page.faults, []);
    } catch (error) {
      if (page.faults.length > 0) console.log(page.faults);
      await shoot(page, "failed").catch(() => {});
      throw error;
    } finally {
      await page.context().close();
      stub.stop();
    }
  });
}

export const box = (page) => page.getByRole("textbox", {name: "Message"});
export const localNames = (nodes) => nodes.map((node) => node.localName);
export const said = (page) => page.locator(".said").allTextContents();

// Waits until the page shows these texts and no others. The page shows what it has stored.
export async function says(page, texts) {
  for (let look = 0; look < 200; ++look) {
    if (isDeepStrictEqual(await said(page), texts)) return;
    await page.waitForTimeout(25);
  }
  assert.deepEqual(await said(page), texts);
}

// Sends a question and gives its answer.
export async function talk(page, stub, question, answer) {
  await send(page, question);
  const ask = await stub.next();
  ask.say(answer);
  ask.end();
  await ended(page);
  return ask;
}
