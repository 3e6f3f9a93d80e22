#include "formats/vocab.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {

namespace {

struct EndName {
  std::string_view name;
  // Whether the name alone makes the token a control token: some converters give it another type.
  // "</s>" is not certain: it is an ordinary word of some vocabularies, since HTML ends a tag so.
  bool certain;
};

// The names by which model families mark the end of a turn, a message or a text. The last three
// separate the files of a code model's repository; they also end a completion.
constexpr std::array<EndName, 24> kEndNames = {{
    {"<|eot_id|>", true},
    {"<|im_end|>", true},
    {"<|end|>", true},
    {"<|return|>", true},
    {"<|call|>", true},
    {"<|flush|>", true},
    {"<|calls|>", true},
    {"<end_of_turn>", true},
    {"<turn|>", true},
    {"<|endoftext|>", true},
    {"<|end_of_text|>", true},
    {"<|eom_id|>", true},
    {"<|END_OF_TURN_TOKEN|>", true},
    {"<\xef\xbd\x9c"
     "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
     true},
    {"<end_of_utterance>", true},
    {"_<EOT>", false},
    {"<EOT>", false},
    {"[EOT]", false},
    {"[EOS]", false},
    {"<eos>", false},
    {"</s>", false},
    {"<|fim_pad|>", true},
    {"<|repo_name|>", true},
    {"<|file_sep|>", true},
}};

size_t end_name_index(std::string_view name) {
  const auto* found = std::find_if(kEndNames.begin(), kEndNames.end(),
                                   [&](const EndName& end) { return end.name == name; });
  return static_cast<size_t>(found - kEndNames.begin());
}

void check_id(const Vocab& vocab, std::string_view field, int32_t id) {
  if (id == Vocab::kNone) return;
  if (id < 0 || static_cast<size_t>(id) >= vocab.tokens.size()) {
    fail(ErrorCode::kFile,
         "{}: {} is {}, but the vocabulary has {} tokens; the file is damaged: get or convert it "
         "again",
         vocab.source, field, id, vocab.tokens.size());
  }
}

void check_count(const Vocab& vocab, std::string_view field, size_t count) {
  if (count == vocab.tokens.size()) return;
  fail(ErrorCode::kFile,
       "{}: {} has {} values for the {} of tokenizer.ggml.tokens; the file is damaged: get or "
       "convert it again",
       vocab.source, field, count, vocab.tokens.size());
}

}  // namespace

void find_end_tokens(Vocab& vocab, std::vector<int32_t> ends) {
  for (int32_t id : {vocab.eos, vocab.eot, vocab.eom}) {
    if (id != Vocab::kNone) ends.push_back(id);
  }
  std::array<int32_t, kEndNames.size()> found;
  found.fill(Vocab::kNone);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    size_t index = end_name_index(vocab.tokens[id]);
    if (index < kEndNames.size()) found[index] = static_cast<int32_t>(id);
  }
  // Messages of gpt-oss end with <|return|> and <|call|>; its <|end|> only ends a channel.
  bool end_is_inner = found[end_name_index("<|return|>")] != Vocab::kNone &&
                      found[end_name_index("<|call|>")] != Vocab::kNone;
  for (size_t i = 0; i < found.size(); ++i) {
    int32_t id = found[i];
    if (id == Vocab::kNone) continue;
    if (vocab.types[id] != TokenType::kControl) {
      if (!kEndNames[i].certain) continue;
      vocab.types[id] = TokenType::kControl;
      vocab.warnings.push_back(
          fmt::format("{}: token {} '{}' is treated as a control token because of its name",
                      vocab.source, id, printable(vocab.tokens[id])));
    }
    if (!(end_is_inner && kEndNames[i].name == "<|end|>")) ends.push_back(id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  vocab.eog = std::move(ends);
}

const AddedRule* find_added_rule(const Vocab& vocab, int32_t id) {
  auto found = std::ranges::lower_bound(vocab.added, id, {}, &AddedRule::id);
  return found != vocab.added.end() && found->id == id ? &*found : nullptr;
}

void check_vocab(const Vocab& vocab) {
  if (vocab.tokens.empty()) {
    fail(ErrorCode::kFile,
         "{}: {} is empty, so the file has no vocabulary: use a file with its vocabulary",
         vocab.source, vocab.tokens_field);
  }
  if (vocab.tokens.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(ErrorCode::kFile,
         "{}: {} has {} tokens, more than 31-bit ids can number: the file is damaged, get or "
         "convert it again",
         vocab.source, vocab.tokens_field, vocab.tokens.size());
  }
  check_count(vocab, "tokenizer.ggml.token_type", vocab.types.size());
  bool scored = vocab.kind == VocabKind::kSpm || vocab.kind == VocabKind::kUnigram;
  if (scored || !vocab.scores.empty()) {
    check_count(vocab, "tokenizer.ggml.scores", vocab.scores.size());
  }
  for (size_t i = 0; i < vocab.scores.size(); ++i) {
    if (std::isnan(vocab.scores[i])) {
      fail(ErrorCode::kFile,
           "{}: tokenizer.ggml.scores[{}] is not a number: the file is damaged, get or convert it "
           "again",
           vocab.source, i);
    }
  }
  if (vocab.merges.size() > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::kFile,
         "{}: the vocabulary has {} merges, more than 32-bit ranks can number: the file is "
         "damaged, get or convert it again",
         vocab.source, vocab.merges.size());
  }
  for (const MergeRule& rule : vocab.merges) {
    for (int32_t id : {rule.left, rule.right, rule.merged}) {
      HEARTH_CHECK(id >= 0 && static_cast<size_t>(id) < vocab.tokens.size(),
                   "merges name tokens of their vocabulary");
    }
  }
  for (const auto& [key, id] : kVocabIdKeys) check_id(vocab, key, vocab.*id);
}

}  // namespace hearth
