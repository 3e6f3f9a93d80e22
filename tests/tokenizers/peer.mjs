// Prints token ids of other tokenizers. Reads lines of JSON, each a text, and writes {"ids": [...],
// "text": "..."} for each.
//   node peer.mjs NODE_MODULES json TOKENIZER.json        Hugging Face's tokenizers
//   node peer.mjs NODE_MODULES ranks RANKS PATTERN        tiktoken, with ranks and pattern of files
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, kind, file, pattern] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'from.js'));
const texts = readFileSync(0, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));

async function huggingFace() {
  const { Tokenizer } = require('tokenizers');
  const tokenizer = Tokenizer.fromFile(file);
  const answers = [];
  for (const text of texts) {
    const encoded = await tokenizer.encode(text, null, { addSpecialTokens: true });
    const ids = encoded.getIds();
    answers.push({ ids, text: await tokenizer.decode(ids, true) });
  }
  return answers;
}

function tiktoken() {
  const { Tiktoken } = require('tiktoken');
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const ranks = `! 0 ${lines.map((line) => line.split(' ')[0]).join(' ')}`;
  const encoding = new Tiktoken(ranks, {}, readFileSync(pattern, 'utf8'));
  return texts.map((text) => {
    const ids = Array.from(encoding.encode_ordinary(text));
    return { ids, text: new TextDecoder('utf8', { ignoreBOM: true }).decode(encoding.decode(ids)) };
  });
}

const answers = kind === 'json' ? await huggingFace() : tiktoken();
process.stdout.write(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
