#include "bench/grammar_bench.h"

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/schema.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

constexpr size_t kMaxWalkBytes = 4000;
constexpr size_t kHurriedWalkBytes = 150;  // beyond this size a walk closes what it can

// Matches a document token by token and measures each. Returns whether the grammar accepts it.
bool take_document(const std::shared_ptr<const Grammar>& grammar,
                   const GrammarVocabulary& vocabulary, const GrammarCase& one, size_t number,
                   GrammarBenchResult& all) {
  const GrammarDocument& document = one.documents[number];
  GrammarCaseResult& result = all.cases.back();
  Matcher matcher(grammar, vocabulary.trie);
  std::vector<uint64_t> bits(vocabulary.trie->mask_words());
  size_t taken_from = 0;  // the end of the bytes that were already counted as forced
  size_t at = 0;
  for (int32_t token : vocabulary.encode(document.text)) {
    if (document.valid) {
      const double start = steady_seconds();
      matcher.mask(bits);
      const double made = steady_seconds();
      const bool allowed = matcher.allows(token);
      const double tested = steady_seconds();
      if (allowed) {
        all.mask_seconds.push_back(made - start);
        all.candidate_seconds.push_back(tested - made);
        if (made - start > result.slowest_mask) {
          result.slowest_mask = made - start;
          result.slowest_document = number;
          result.slowest_byte = at;
        }
      }
      if (at >= taken_from) {
        const size_t forced = matcher.forced().size();
        all.forced_bytes += forced;
        taken_from = at + std::max<size_t>(forced, 1);
      }
      at += vocabulary.trie->bytes(token).size();
    }
    if (!matcher.accept(token)) return false;
  }
  if (document.valid) all.bytes += document.text.size();
  return matcher.may_end();
}

// Returns the next byte of a random document, from the bytes that may follow. Closing bytes are
// more likely; where `hurried`, only closing bytes are taken if any may follow. -1: no byte may
// follow.
int32_t pick_byte(std::span<const uint64_t> bits, bool hurried, std::mt19937_64& random) {
  std::vector<int32_t> all;
  std::vector<int32_t> closing;
  for (int32_t token = 0; token <= kByteVocabularyEnd; ++token) {
    if (!has_bit(bits, token)) continue;
    all.push_back(token);
    const bool closes = token == kByteVocabularyEnd || token == '}' || token == ']' || token == '"';
    if (closes) closing.push_back(token);
  }
  if (all.empty()) return -1;
  const bool close = !closing.empty() && (hurried || random() % 4 == 0);
  const std::vector<int32_t>& some = close ? closing : all;
  return some[random() % some.size()];
}

void walk_randomly(const std::shared_ptr<const Grammar>& grammar,
                   const std::shared_ptr<const VocabularyTrie>& bytes, std::mt19937_64& random,
                   GrammarCaseResult& result) {
  Matcher matcher(grammar, bytes);
  std::vector<uint64_t> bits(bytes->mask_words());
  std::string text;
  while (text.size() < kMaxWalkBytes) {
    matcher.mask(bits);
    const int32_t token = pick_byte(bits, text.size() > kHurriedWalkBytes, random);
    if (token < 0 || !matcher.accept(token)) {
      ++result.dead_ends;
      return;
    }
    if (token == kByteVocabularyEnd) {
      result.walks.push_back(std::move(text));
      return;
    }
    text += static_cast<char>(token);
  }
  ++result.cut_walks;
}

void run_case(const GrammarCase& one, const GrammarVocabulary& vocabulary,
              const GrammarBenchOptions& options, std::mt19937_64& random,
              GrammarBenchResult& all) {
  GrammarCaseResult& result = all.cases.emplace_back();
  result.id = one.id;
  SchemaGrammar made;
  const double start = steady_seconds();
  try {
    made = compile_schema(one.schema, {.relaxed = options.relaxed});
  } catch (const Error& error) {
    result.refusal = error.what();
  }
  result.compile_seconds = steady_seconds() - start;
  if (!result.refusal.empty()) return;
  result.dropped = made.dropped;
  for (size_t i = 0; i < one.documents.size(); ++i) {
    const bool valid = one.documents[i].valid;
    if (take_document(made.grammar, vocabulary, one, i, all) == valid) {
      ++result.right;
    } else {
      (valid ? result.lost : result.let_through).push_back(i);
    }
  }
  const std::shared_ptr<const VocabularyTrie> bytes = single_byte_vocabulary();
  for (uint32_t i = 0; i < options.walks; ++i) walk_randomly(made.grammar, bytes, random, result);
}

}  // namespace

GrammarVerdict judge_text(const std::shared_ptr<const Grammar>& grammar,
                          const GrammarVocabulary& vocabulary, std::string_view text) {
  GrammarVerdict verdict;
  Matcher matcher(grammar, vocabulary.trie);
  const std::vector<int32_t> tokens = vocabulary.encode(text);
  if (std::ranges::all_of(tokens, [&](int32_t token) { return matcher.accept(token); })) {
    verdict.taken = matcher.may_end();
  }
  // The document is matched byte by byte to find where and why it leaves the grammar.
  const std::shared_ptr<const VocabularyTrie> bytes = single_byte_vocabulary();
  Matcher by_bytes(grammar, bytes);
  while (verdict.bytes < text.size() &&
         by_bytes.accept(static_cast<uint8_t>(text[verdict.bytes]))) {
    ++verdict.bytes;
  }
  verdict.may_end = by_bytes.may_end();
  for (int32_t byte = 0; byte < kByteVocabularyEnd; ++byte) {
    if (by_bytes.allows(byte)) verdict.may_follow += static_cast<char>(byte);
  }
  return verdict;
}

GrammarBenchResult bench_grammars(std::span<const GrammarCase> cases,
                                  const GrammarVocabulary& vocabulary,
                                  const GrammarBenchOptions& options) {
  GrammarBenchResult all;
  std::mt19937_64 random(options.seed);
  for (const GrammarCase& one : cases) run_case(one, vocabulary, options, random, all);
  return all;
}

}  // namespace hearth
