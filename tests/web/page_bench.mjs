// Measures how smoothly the page shows a long answer. The stub sends a reply of 20,000 tokens with
// headings, lists, tables, code and formulas, at a high rate. Prints the times between frames of
// Chromium and the longest tasks.
//
//    Run scripts/web.sh once, which sets build/web up; then there, on an otherwise idle machine:
//    node page_bench.mjs [TOKENS [TOKENS_A_SECOND]]

import {Browser, ended, send} from "./browser.mjs";
import {Stub} from "./stub.mjs";

const TOKENS = Number(process.argv[2] ?? 20_000);
const RATE = Number(process.argv[3] ?? 500);
const EVERY = 20;   // ms between chunks

const WORDS = ("the fox and the owl have a kite that goes up over the hill where nobody has been " +
               "for a year and a day ").split(" ");
const BLOCKS = [
  (n) => `\n\n## Part ${n}\n\n`,
  (n) => `- one of ${n}\n- **two** of \`${n}\`\n  - three, below\n\n`,
  (n) => `| a | b |\n|---|---|\n| ${n} | ${n + 1} |\n| x | y |\n\n`,
  (n) => `\`\`\`js\nconst part = ${n};  // a comment\nif (part > 3) run(part, "text");\n\`\`\`\n\n`,
  (n) => `Since $a_{${n}} = b^2$ it follows:\n\n$$\\sum_{i=0}^{${n}} i^2$$\n\n`,
  () => "> as somebody said\n> some time ago\n\n",
];

// Makes pieces as a model gives them: words, and the markup of blocks.
function pieces(count) {
  const all = [];
  for (let part = 0; all.length < count; ++part) {
    all.push(...BLOCKS[part % BLOCKS.length](part).match(/\s?\S+|\s+/g));
    for (let word = 0; word < 60; ++word) all.push(` ${WORDS[(part + word) % WORDS.length]}`);
    all.push("\n\n");
  }
  return all.slice(0, count);
}

function watch() {
  const seen = {gaps: [], tasks: []};
  window.seen = seen;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.tasks.push([entry.startTime, entry.duration]);
  }).observe({entryTypes: ["longtask"]});
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const browser = await Browser.start();
const stub = await Stub.start();
const page = await browser.open(stub.url);
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable");
// Returns the seconds that the page's thread spent so far, by kind of work.
async function spent() {
  const {metrics} = await session.send("Performance.getMetrics");
  const of = Object.fromEntries(metrics.map(({name, value}) => [name, value]));
  return {layout: of.LayoutDuration, style: of.RecalcStyleDuration, script: of.ScriptDuration,
          all: of.TaskDuration};
}
await send(page, "Tell me everything.");
const ask = await stub.next();
await page.evaluate(watch);
const all = pieces(TOKENS);
let before = await spent();
let told = 0;
const begun = performance.now();
for (let given = 0; given < all.length;) {
  const due = Math.min(all.length, Math.ceil((performance.now() - begun) / 1000 * RATE));
  if (due > given) ask.say(...all.slice(given, due));
  given = Math.max(given, due);
  if (given >= told + all.length / 4) {
    told = given;
    const now = await spent();
    console.log(`${given} tokens: ` + Object.entries(now).map(
        ([name, value]) => `${name} ${(value - before[name]).toFixed(2)} s`).join(", "));
    before = now;
  }
  await new Promise((resolve) => setTimeout(resolve, EVERY));
}
const streamed = await page.evaluate(() => structuredClone(window.seen));
ask.end();
await ended(page);
const whole = await page.evaluate(() => window.seen);
const gaps = streamed.gaps.slice(1).sort((a, b) => a - b);
const at = (part) => gaps[Math.floor(part * (gaps.length - 1))].toFixed(1);
// Lists the tasks with their times since the page was opened.
const long = (tasks) => [`${tasks.length} above 50 ms`, ...tasks.map(
    ([start, spent]) => `${spent.toFixed(0)} ms at ${(start / 1000).toFixed(1)} s`)].join(", ");
console.log(`${TOKENS} tokens in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
console.log(`frames: ${gaps.length}, apart by ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ` +
            `${at(1)} ms (most)`);
console.log(`tasks while it streamed: ${long(streamed.tasks)}`);
console.log(`and at its end: ${long(whole.tasks.slice(streamed.tasks.length))}`);
await browser.stop();
stub.stop();
