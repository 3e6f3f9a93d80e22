// A test of the page: a server that answers as told (stub.mjs), and a page of its own in which
// nothing may go wrong that nobody expects.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {isDeepStrictEqual} from "node:util";
import {Browser, ended, send, shoot} from "./browser.mjs";
import {limit} from "./hearth.mjs";
import {Stub} from "./stub.mjs";

let browser;
before(async () => { browser = await Browser.start(); });
after(() => browser?.stop());

// server: of Stub.start(); page: of Browser.open(); prepare(context): before the page is opened.
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

// The page comes to show these texts, and no others. What it shows follows what it stores.
export async function says(page, texts) {
  for (let look = 0; look < 200; ++look) {
    if (isDeepStrictEqual(await said(page), texts)) return;
    await page.waitForTimeout(25);
  }
  assert.deepEqual(await said(page), texts);
}

// A question and its answer.
export async function talk(page, stub, question, answer) {
  await send(page, question);
  const ask = await stub.next();
  ask.say(answer);
  ask.end();
  await ended(page);
  return ask;
}
