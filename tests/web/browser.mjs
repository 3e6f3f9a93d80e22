// Chromium for the tests of the page. It opens the page in a context of its own, collects the
// page's errors, and runs axe-core on it. CHROMIUM names the program.

import assert from "node:assert/strict";
import {mkdirSync, mkdtempSync} from "node:fs";
import {rm} from "node:fs/promises";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {fileURLToPath} from "node:url";
import axe from "axe-core";
import {chromium} from "playwright-core";

export const DESKTOP = {width: 1200, height: 800};
export const PHONE = {width: 390, height: 780};
const SHOTS = fileURLToPath(new URL("../../build/web/screenshots/", import.meta.url));

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "hearth-web-"));
    browser.chromium = await chromium.launch({
      executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"],
      env: {...process.env, HOME: browser.profile, XDG_CONFIG_HOME: browser.profile},
    });
    mkdirSync(SHOTS, {recursive: true});
    return browser;
  }

  async stop() {
    await this.chromium.close();
    await rm(this.profile, {recursive: true, force: true});
  }

  // Opens a page in a new browser context, ready for use.
  async open(url, {viewport = DESKTOP, colorScheme = "light", ...more} = {}) {
    const context = await this.chromium.newContext({viewport, colorScheme, ...more});
    const page = await context.newPage();
    page.setDefaultTimeout(0);   // the test's own limit is the only one
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(String(error)));
    page.on("console", (message) => {
      const network = /^Failed to load resource/.test(message.text());
      if (message.type() === "error" && !network) page.faults.push(message.text());
    });
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    await page.goto(url);
    await ready(page);
    return page;
  }
}

export async function checkAccess(page, what) {
  await page.evaluate(axe.source);
  const {violations} = await page.evaluate(() => window.axe.run(document, {
    resultTypes: ["violations"],
  }));
  const told = violations.map((violation) => `${violation.id}: ${violation.help}\n    ` +
      violation.nodes.map((node) => `${node.target} ${node.failureSummary}`).join("\n    "));
  assert.deepEqual(told, [], what);
}

export function shoot(page, name) {
  return page.screenshot({path: `${SHOTS}${name}.png`});
}

// Waits until the page takes input, which it does once it has read its storage.
export async function ready(page) {
  await page.locator("body:not([inert])").waitFor();
}

// Types into the message box as a user does, and sends it with Enter.
export async function send(page, text) {
  await ready(page);
  await page.getByRole("textbox", {name: "Message"}).fill(text);
  await page.keyboard.press("Enter");
}

// Returns the last answer as soon as it has ended.
export async function ended(page) {
  const last = page.locator("article.model").last();
  await last.and(page.locator("[aria-busy=false]")).waitFor();
  return last;
}
