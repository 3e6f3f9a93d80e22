// Measures grammars made of JSON Schemas: which schemas compile and in what time, which documents
// the grammars accept, and the time of a mask for each token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/grammar_cases.h"
#include "grammar/matcher.h"

namespace hearth {

// A vocabulary, and the function that turns a text into tokens of it.
struct GrammarVocabulary {
  std::shared_ptr<const VocabularyTrie> trie;
  std::function<std::vector<int32_t>(std::string_view text)> encode;
};

struct GrammarBenchOptions {
  bool relaxed = false;
  uint32_t walks = 0;  // random documents made for each schema, over single bytes
  uint64_t seed = 1;
};

struct GrammarCaseResult {
  std::string id;
  std::string refusal;               // empty where the schema was compiled
  std::vector<std::string> dropped;  // keywords that the grammar ignores where it is relaxed
  double compile_seconds = 0;
  size_t right = 0;
  std::vector<size_t> lost, let_through;  // indices: valid documents refused, invalid ones accepted
  double slowest_mask = 0;                // seconds
  size_t slowest_document = 0, slowest_byte = 0;
  std::vector<std::string> walks;
  uint32_t cut_walks = 0;  // walks that did not end within the limit
  uint32_t dead_ends = 0;
};

struct GrammarBenchResult {
  std::vector<GrammarCaseResult> cases;
  // Seconds for each token that the grammar allows in the valid documents: the time to make the
  // mask of all tokens, and the time to test only this token.
  std::vector<double> mask_seconds, candidate_seconds;
  uint64_t forced_bytes = 0, bytes = 0;
};

// The place where a text leaves the grammar; the text's size where it never does.
struct GrammarVerdict {
  bool taken = false;
  size_t bytes = 0;        // the longest prefix of the text that may begin a document
  std::string may_follow;  // the bytes that may, in ascending order
  bool may_end = false;    // the text could end after these bytes
};
GrammarVerdict judge_text(const std::shared_ptr<const Grammar>& grammar,
                          const GrammarVocabulary& vocabulary, std::string_view text);

GrammarBenchResult bench_grammars(std::span<const GrammarCase> cases,
                                  const GrammarVocabulary& vocabulary,
                                  const GrammarBenchOptions& options);

}  // namespace hearth
