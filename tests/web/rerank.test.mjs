// Tests Cohere's client against /v2/rerank and /v1/rerank.

import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {CohereClient, CohereClientV2, CohereError} from "cohere-ai";
import {Hearth, limit} from "./hearth.mjs";

const query = "a fox in the snow";
const documents = ["the owl sleeps", "a fox runs through the snow", "", "x"];
let server;
let client;
before(async () => {
  server = await Hearth.startReranker();
  client = new CohereClientV2({token: "none", environment: server.url, maxRetries: 0});
});
after(() => server?.stop());

function checkOrder(results) {
  const scores = results.map((result) => result.relevanceScore);
  assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
  assert.ok(scores.every((score) => score > 0 && score < 1));
}

test("documents are ranked, and indices point back", limit, async () => {
  const all = await client.rerank({model: server.model, query, documents});
  checkOrder(all.results);
  assert.deepEqual(all.results.map((result) => result.index).sort(), [0, 1, 2, 3]);
  assert.match(all.id, /^rerank-/);
  assert.ok(all.meta.tokens.inputTokens > 4 * query.length);
  const best = await client.rerank({model: server.model, query, documents, topN: 2,
                                    maxTokensPerDoc: 4096});
  assert.deepEqual(best.results, all.results.slice(0, 2));
  const alone = await client.rerank({model: server.model, query, documents: [documents[1]]});
  const together = all.results.find((result) => result.index === 1);
  assert.equal(alone.results[0].relevanceScore, together.relevanceScore);
});

test("the first version gives documents back", limit, async () => {
  const first = new CohereClient({token: "none", environment: server.url});
  const {results} = await first.rerank({query, documents: documents.map((text) => ({text})),
                                        returnDocuments: true}, {maxRetries: 0});
  checkOrder(results);
  for (const {index, document} of results) assert.equal(document.text, documents[index]);
});

test("what cannot be ranked says so", limit, async () => {
  const refused = (fields, status, text) => assert.rejects(
      client.rerank({model: server.model, query, documents, ...fields}, {maxRetries: 0}),
      (error) => {
        assert.ok(error instanceof CohereError);
        assert.equal(error.statusCode, status);
        assert.match(JSON.stringify(error.body), text);
        return true;
      });
  await refused({documents: []}, 400, /documents/);
  await refused({query: ""}, 400, /query is empty/);
  await refused({documents: ["fox ".repeat(4000)]}, 400, /context_length_exceeded/);
  await refused({model: "nobody"}, 404, /model_not_found/);
});
