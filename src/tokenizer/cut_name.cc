#include "tokenizer/cut_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/hard_texts.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

// One name for each way to split: of several names that split alike, the one that most programs
// know.
constexpr std::array<std::string_view, 18> kNames = {
    "gpt-2",   "qwen2",  "llama-bpe",      "smaug-bpe",    "gpt-4o",     "deepseek-v3",
    "tekken",  "mpt",    "megrez",         "qwen35",       "starcoder",  "command-r",
    "kimi-k2", "falcon", "deepseek-coder", "deepseek-llm", "seed-coder", "default"};

// Returns whether merges make every normal token from its bytes. Leaves out tokens whose bytes are
// not UTF-8.
bool merges_lead_to_all(const Vocab& vocab) {
  Vocab plain = vocab;
  plain.rules.emplace();
  plain.rules->cut.emplace_back(ByteLevelStep{.use_regex = false});
  plain.added.clear();
  for (TokenType& type : plain.types) {
    if (type != TokenType::kNormal) type = TokenType::kUnused;
  }
  const auto tokenizer = Tokenizer::from_vocab(std::move(plain));
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.types[id] != TokenType::kNormal) continue;
    const std::string bytes = byte_level_decode(vocab.tokens[id]);
    if (!is_well_formed(bytes)) continue;
    const auto ids = tokenizer->encode(bytes, {.add_bos = false, .add_eos = false});
    if (ids.size() != 1 || ids[0] != static_cast<int32_t>(id)) return false;
  }
  return true;
}

bool brings_into_nfc(const Vocab& vocab) {
  const std::vector<NormalizeStep>& steps = vocab.rules->normalize;
  if (steps.empty()) return false;
  if (steps.size() == 1 && std::holds_alternative<NfcStep>(steps[0])) return true;
  fail(ErrorCode::kUnsupported,
       "'{}': its normalizer does more than NFC, which a GGUF file cannot express: load the folder "
       "with --weights instead",
       vocab.source);
}

// Returns the first text that the steps split differently from a rule, or null. The steps may spell
// pieces as bytes.
const std::string* first_unlike(const PreTokenizer& steps, const PreTokenizer& rule,
                                const std::vector<std::string>& texts) {
  MatchMemory memory;
  TextPieces wanted, found;
  auto is_same = [&](std::string_view a, std::string_view b) {
    return steps.spells_bytes() ? a == b : a == byte_level_encode(b);
  };
  for (const std::string& text : texts) {
    steps.split(text, true, memory, wanted);
    rule.split(text, true, memory, found);
    if (!std::ranges::equal(wanted.pieces, found.pieces, is_same)) return &text;
  }
  return nullptr;
}

}  // namespace

std::string cut_name(const Vocab& vocab) {
  const bool nfc = brings_into_nfc(vocab), whole = vocab.rules->ignore_merges;
  const PreTokenizer own(vocab.rules->cut, vocab.source);
  const std::vector<std::string> texts = hard_texts();
  std::optional<bool> all_merge;
  const std::string* last = nullptr;  // the latest of all names' first differing texts
  bool otherwise = false;  // some name splits alike, but differs in NFC or in whole tokens
  for (const std::string_view name : kNames) {
    const PreTokenizerRule& rule = *find_pre_tokenizer(name);
    if (const std::string* unlike = first_unlike(own, PreTokenizer(rule), texts)) {
      last = last == nullptr ? unlike : std::max(last, unlike);
      continue;
    }
    otherwise = true;
    if (rule.nfc != nfc) continue;
    if (rule.whole_tokens != whole && !all_merge) all_merge = merges_lead_to_all(vocab);
    if (rule.whole_tokens == whole || *all_merge) return std::string(name);
  }
  if (otherwise) {
    fail(ErrorCode::kUnsupported,
         "'{}': its pre-tokenizer is known, but GGUF has no name for it {} NFC and {} "
         "ignore_merges: load the folder with --weights instead",
         vocab.source, nfc ? "with" : "without", whole ? "with" : "without");
  }
  fail(ErrorCode::kUnsupported,
       "'{}': no pre-tokenizer that GGUF has a name for splits text as its pre_tokenizer does, "
       "such as '{}': load the folder with --weights instead",
       vocab.source, printable(*last));
}

}  // namespace hearth
