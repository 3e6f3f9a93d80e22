#include "tokenizer/file_vocab_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/cut_name.h"
#include "tokenizer/merge_scores.h"
#include "tokenizer/spm_encoder.h"
#include "tokenizer/vocabulary.h"

namespace hearth {
namespace {

// The score of tokens that merges never make.
constexpr float kUnusedScore = -1e6F;

[[noreturn]] void refuse_step(const Vocab& vocab, const std::string& step) {
  fail(ErrorCode::kUnsupported,
       "'{}': {}, which a GGUF file with this kind of vocabulary cannot express: load the folder "
       "with --weights instead",
       vocab.source, step);
}

bool marks_spaces(const ReplaceStep& step) {
  return step.pattern.text == " " && step.content == kSpaceMark;
}

// Reads from a tokenizer.json's steps whether a space is put before a text, as SentencePiece does.
class SpaceReader {
 public:
  explicit SpaceReader(const Vocab& vocab) : vocab_(vocab) {}

  bool read() {
    for (const NormalizeStep& step : vocab_.rules->normalize) {
      if (const auto* prepend = std::get_if<PrependStep>(&step)) {
        if (prepend->text != kSpaceMark) refuse_step(vocab_, "its normalizer prepends text");
        prefix_ = true;
      } else if (const auto* replace = std::get_if<ReplaceStep>(&step)) {
        if (!marks_spaces(*replace))
          refuse_step(vocab_, "its normalizer replaces more than spaces");
        marked_ = true;
      } else {
        refuse_step(vocab_, "its normalizer applies NFC");
      }
    }
    for (const CutStep& step : vocab_.rules->cut) std::visit([&](auto& is) { read(is); }, step);
    if (!marked_) refuse_step(vocab_, "spaces are not replaced by U+2581");
    return prefix_;
  }

 private:
  // A split at spaces does nothing where all spaces have become marks.
  void read(const SplitStep& step) const {
    if (!marked_ || step.pattern.text != " ") refuse_step(vocab_, "its pre_tokenizer splits");
  }
  void read(const ByteLevelStep&) const { refuse_step(vocab_, "its pre_tokenizer encodes bytes"); }
  void read(const MetaspaceStep& step) {
    if (step.mark != kSpaceMark) refuse_step(vocab_, "its mark for spaces is not U+2581");
    if (step.prepend == PrependScheme::kFirst) {
      refuse_step(
          vocab_,
          "it adds a space before a text, but none after a special token (prepend_scheme first)");
    }
    prefix_ = prefix_ || step.prepend == PrependScheme::kAlways;
    marked_ = true;
  }

  const Vocab& vocab_;
  bool prefix_ = false, marked_ = false;
};

// Turns BPE over characters with byte tokens into SentencePiece's form, with scores.
void make_scored(Vocab* vocab) {
  if (!vocab->rules->byte_fallback) {
    refuse_step(*vocab, "it has neither byte-level characters nor byte tokens");
  }
  vocab->add_space_prefix = SpaceReader(*vocab).read();
  for (size_t id = 0; id < vocab->tokens.size(); ++id) {
    std::string& token = vocab->tokens[id];
    TokenType& type = vocab->types[id];
    if (type == TokenType::kNormal && byte_token_value(token) >= 0) type = TokenType::kByte;
    if (type != TokenType::kUserDefined || token.find(kSpaceMark) == std::string::npos) continue;
    // A token of several spaces becomes a normal one, since merges make it.
    const AddedRule* rule = find_added_rule(*vocab, static_cast<int32_t>(id));
    if (rule == nullptr || !rule->outside) type = TokenType::kNormal;
  }
  if (vocab->unk != Vocab::kNone) vocab->types[vocab->unk] = TokenType::kUnknown;
  vocab->scores = merge_scores(*vocab);
  vocab->kind = VocabKind::kSpm;
  vocab->merges.clear();
}

bool spells_bytes(const Vocab& vocab) {
  return std::ranges::any_of(vocab.rules->cut, [](const CutStep& step) {
    return std::holds_alternative<ByteLevelStep>(step);
  });
}

// Sets whether a token is put before and behind a text. A file can name one token for each side. If
// the tokenizer puts several there, the file names none. The token behind may differ from the one
// that ends a generation.
void settle_ends(const Tokenizer& tokenizer, Vocab* vocab) {
  const std::span<const int32_t> before = tokenizer.before(), behind = tokenizer.behind();
  vocab->add_bos = tokenizer.adds_bos() && before.size() == 1;
  vocab->add_eos = vocab->add_eos && behind.size() == 1;
  if (*vocab->add_bos) vocab->bos = before[0];
  if (vocab->add_eos) vocab->eos = behind[0];
  // Programs put the separator behind the text if the vocabulary is WordPiece.
  if (vocab->add_eos && vocab->kind == VocabKind::kWordPiece) vocab->sep = behind[0];
  Vocab by_name = *vocab;
  find_end_tokens(by_name);
  for (const int32_t id : vocab->eog) {
    if (std::ranges::binary_search(by_name.eog, id)) continue;
    int32_t& room = vocab->eot == Vocab::kNone ? vocab->eot : vocab->eom;
    if (room == Vocab::kNone) room = id;
  }
}

void fill_rows(uint32_t rows, Vocab* vocab) {
  vocab->tokens.resize(std::max<size_t>(rows, vocab->tokens.size()));
  vocab->types.resize(vocab->tokens.size(), TokenType::kUnused);
  if (!vocab->scores.empty()) vocab->scores.resize(vocab->tokens.size(), kUnusedScore);
  for (size_t id = 0; id < vocab->tokens.size(); ++id) {
    if (!vocab->tokens[id].empty()) continue;
    vocab->tokens[id] = fmt::format("[PAD{}]", id);
    vocab->types[id] = TokenType::kUnused;
  }
}

}  // namespace

Vocab file_vocab_form(const ModelSource& folder, const Tokenizer& tokenizer, uint32_t rows) {
  Vocab vocab = read_vocabulary(folder);
  settle_ends(tokenizer, &vocab);
  if (vocab.rules && spells_bytes(vocab)) {
    vocab.pre = cut_name(vocab);
  } else if (vocab.rules) {
    make_scored(&vocab);
  }
  vocab.rules.reset();
  vocab.added.clear();
  fill_rows(rows, &vocab);
  return vocab;
}

}  // namespace hearth
