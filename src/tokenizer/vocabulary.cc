#include "tokenizer/vocabulary.h"

#include "base/enum_name.h"
#include "base/error.h"
#include "base/printable.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/pre_tokenizer.h"

namespace hearth {

namespace {

void settle_pre_tokenizer(const std::optional<std::string>& pre, Vocab* vocab) {
  if (pre) vocab->pre = *pre;
  if (vocab->pre.empty()) {
    vocab->pre = "default";
    vocab->warnings.push_back(fmt::format(
        "{}: tokenizer.ggml.pre is missing: text is cut by the pre-tokenizer 'default', which may "
        "not be the one the model was trained with; give the right one with --pre",
        vocab->source));
  }
  const PreTokenizerRule* rule = find_pre_tokenizer(vocab->pre);
  if (rule == nullptr && pre) {
    fail_field(ErrorCode::kUsage, "pre", "{} is not a known pre-tokenizer; give one of {}",
               printable(vocab->pre), pre_tokenizer_names());
  }
  if (rule == nullptr) {
    fail_field(ErrorCode::kUnsupported, "pre",
               "must name a pre-tokenizer, as tokenizer.ggml.pre of {} names '{}', which is "
               "unknown: give one of {}",
               vocab->source, printable(vocab->pre), pre_tokenizer_names());
  }
  if (!vocab->add_bos) vocab->add_bos = rule->add_bos;
}

const char* kind_name(VocabKind kind) {
  return enum_name<VocabKind::kUnigram>(
      {"byte-level BPE", "SentencePiece", "WordPiece", "SentencePiece unigram"}, kind);
}

void spell_bytes(Vocab* vocab) {
  for (size_t id = 0; id < vocab->tokens.size(); ++id) {
    if (vocab->types[id] != TokenType::kNormal) continue;
    vocab->tokens[id] = byte_level_encode(vocab->tokens[id]);
  }
  vocab->raw_bytes = false;
}

}  // namespace

Vocab read_vocabulary(const ModelSource& source, const std::optional<std::string>& pre) {
  Vocab vocab = source.vocabulary();
  if (pre && vocab.kind != VocabKind::kBpe) {
    fail_field(ErrorCode::kUsage, "pre",
               "{} works only with byte-level BPE vocabularies, and that of {} is {}: leave it out",
               *pre, vocab.source, kind_name(vocab.kind));
  }
  if (vocab.raw_bytes) spell_bytes(&vocab);
  if (pre && vocab.rules) {
    fail_field(ErrorCode::kUsage, "pre",
               "{} works only with vocabularies that do not define how text is split, and {} does: "
               "leave it out",
               printable(*pre), vocab.source);
  }
  if (vocab.kind == VocabKind::kBpe && !vocab.rules) settle_pre_tokenizer(pre, &vocab);
  return vocab;
}

}  // namespace hearth
