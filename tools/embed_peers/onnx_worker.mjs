// Runs ONNX Runtime over a model of onnx_writer.py. Lines of input say what to measure; workers.py
// has their format.
//
//   node onnx_worker.mjs MODEL.onnx --threads N [--packages FOLDER]
//
// A run has up to BATCH texts of one length side by side. A text of another length begins a new
// run.
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import readline from "node:readline";
import {parseArgs} from "node:util";

const {values: options, positionals: [model]} = parseArgs({
  allowPositionals: true,
  options: {
    threads: {type: "string", default: "1"},
    packages: {type: "string", default: "."},
  },
});
const require = createRequire(path.resolve(options.packages) + path.sep);
const ort = require("onnxruntime-node");

function readTexts(file) {
  return fs.readFileSync(file, "utf8").trim().split("\n").map(
      (line) => Int32Array.from(line.split(" "), Number));
}

// The inputs of all runs, made before anything is timed.
function makeFeeds(texts, batch) {
  const feeds = [];
  for (let begin = 0; begin < texts.length;) {
    let end = begin + 1;
    while (end < texts.length && end - begin < batch &&
           texts[end].length === texts[begin].length) ++end;
    const shape = [end - begin, texts[begin].length];
    const ids = new Int32Array(shape[0] * shape[1]);
    for (let i = begin; i < end; ++i) ids.set(texts[i], (i - begin) * shape[1]);
    feeds.push({
      ids: new ort.Tensor("int32", ids, shape),
      types: new ort.Tensor("int32", new Int32Array(ids.length), shape),
    });
    begin = end;
  }
  return feeds;
}

async function measure(session, [batch, repeat, textsFile, vectorsFile]) {
  const feeds = makeFeeds(readTexts(textsFile), Number(batch));
  const seconds = [];
  let vectors = [];
  for (let i = 0; i < Number(repeat); ++i) {
    vectors = [];
    const start = process.hrtime.bigint();
    for (const feed of feeds) vectors.push((await session.run(feed))[session.outputNames[0]].data);
    seconds.push(Number(process.hrtime.bigint() - start) / 1e9);
  }
  if (vectorsFile !== undefined) {
    fs.writeFileSync(vectorsFile, Buffer.concat(vectors.map(
        (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength))));
  }
  return seconds.join(" ");
}

const threads = Number(options.threads);
let session;
try {
  session = await ort.InferenceSession.create(model, {
    executionProviders: ["cpu"], intraOpNumThreads: threads, interOpNumThreads: 1,
    executionMode: "sequential", graphOptimizationLevel: "all", logSeverityLevel: 3,
  });
} catch (error) {
  console.log(`error: ${String(error.message).replaceAll("\n", " ")}`);
  process.exit(1);
}
console.log(`ready: ONNX Runtime ${require("onnxruntime-node/package.json").version}, ` +
            `${threads} threads`);
for await (const line of readline.createInterface({input: process.stdin})) {
  try {
    console.log(await measure(session, line.split("\t")));
  } catch (error) {
    console.log(`error: ${String(error.message).replaceAll("\n", " ")}`);
  }
}
