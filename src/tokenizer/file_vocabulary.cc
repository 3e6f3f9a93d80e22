#include "tokenizer/file_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/count_text.h"
#include "base/error.h"
#include "base/printable.h"
#include "formats/gguf.h"
#include "tokenizer/file_vocab_form.h"
#include "tokenizer/hard_texts.h"
#include "tokenizer/merge_scores.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";

const char* model_of(VocabKind kind) {
  if (kind == VocabKind::kSpm) return "llama";
  if (kind == VocabKind::kWordPiece) return "bert";
  return kind == VocabKind::kUnigram ? "t5" : "gpt2";
}

std::vector<std::string> merge_rules_of(const Vocab& vocab) {
  std::vector<std::string> texts;
  for (const MergeRule& rule : merges_by_rank(vocab)) {
    texts.push_back(vocab.tokens[rule.left] + " " + vocab.tokens[rule.right]);
  }
  return texts;
}

void set_kind(const Vocab& vocab, GgufWriter* keys) {
  if (vocab.kind == VocabKind::kBpe) {
    keys->set("tokenizer.ggml.pre", vocab.pre);
    keys->set("tokenizer.ggml.merges", merge_rules_of(vocab));
  } else if (vocab.kind == VocabKind::kWordPiece) {
    keys->set("tokenizer.ggml.normalizer.lowercase", vocab.lowercase);
    keys->set("tokenizer.ggml.normalizer.strip_accents", vocab.strip_accents);
    keys->set("tokenizer.ggml.add_sep_token", vocab.add_eos);
  } else {
    keys->set("tokenizer.ggml.scores", vocab.scores);
    keys->set("tokenizer.ggml.add_space_prefix", vocab.add_space_prefix);
  }
  if (vocab.kind != VocabKind::kUnigram) return;
  keys->set("tokenizer.ggml.remove_extra_whitespaces", vocab.remove_extra_whitespaces);
  if (vocab.charsmap.empty()) return;
  keys->set("tokenizer.ggml.precompiled_charsmap",
            std::vector<uint8_t>(vocab.charsmap.begin(), vocab.charsmap.end()));
}

void set_vocab(const Vocab& vocab, GgufWriter* keys) {
  keys->set(kModelKey, std::string_view(model_of(vocab.kind)));
  keys->set("tokenizer.ggml.tokens", vocab.tokens);
  std::vector<int32_t> types;
  for (const TokenType type : vocab.types) types.push_back(static_cast<int32_t>(type));
  keys->set("tokenizer.ggml.token_type", types);
  set_kind(vocab, keys);
  for (const auto& [key, id] : kVocabIdKeys) {
    if (vocab.*id != Vocab::kNone) keys->set(key, static_cast<uint32_t>(vocab.*id));
  }
  keys->set("tokenizer.ggml.add_bos_token", vocab.add_bos.value_or(false));
  if (vocab.kind != VocabKind::kWordPiece) {
    keys->set("tokenizer.ggml.add_eos_token", vocab.add_eos);
    // The key says whether a separator follows EOS between the texts of a pair.
    if (!vocab.between.empty()) {
      keys->set("tokenizer.ggml.add_sep_token", vocab.between.size() > 1);
    }
  }
}

// Compares the folder's tokenizer with the one that is made of the keys.
class Comparison {
 public:
  Comparison(const ModelSource& folder, const Tokenizer& own, const Tokenizer& made)
      : folder_(folder), own_(own), made_(made) {}

  void check_texts() const {
    for (const std::string& text : hard_texts()) check(text);
    const Vocab& vocab = own_.vocab();
    for (size_t id = 0; id < vocab.tokens.size(); ++id) {
      if (vocab.types[id] != TokenType::kUserDefined) continue;
      // Users write spaces, not U+2581, so tokens are checked in the spelling of text.
      check("a" + made_.token_bytes(static_cast<int32_t>(id)) + " b");
    }
  }

  // Returns the special tokens beside which the two tokenizers split text differently.
  std::vector<std::string> unlike_special() const {
    std::vector<std::string> unlike;
    const Vocab& vocab = own_.vocab();
    for (size_t id = 0; id < vocab.tokens.size(); ++id) {
      if (vocab.types[id] != TokenType::kControl) continue;
      const std::string text = "a " + vocab.tokens[id] + " b" + vocab.tokens[id] + "c";
      if (!is_same(text, true)) unlike.push_back(vocab.tokens[id]);
    }
    return unlike;
  }

 private:
  // Returns whether both tokenizers give the same tokens for a text, and decode them to the same
  // text.
  bool is_same(const std::string& text, bool special) const {
    const EncodeOptions options = {.add_bos = false, .add_eos = false, .parse_special = special};
    const auto ids = encoded(own_, text, options);
    return ids == encoded(made_, text, options) &&
           (!ids || own_.decode(*ids) == made_.decode(*ids));
  }

  // Returns the ids; none where the tokenizer refuses the text, since a token is missing.
  static std::optional<std::vector<int32_t>> encoded(const Tokenizer& tokenizer,
                                                     const std::string& text,
                                                     const EncodeOptions& options) {
    try {
      return tokenizer.encode(text, options);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void check(const std::string& text) const {
    if (is_same(text, false)) return;
    fail(ErrorCode::kUnsupported,
         "'{}': a GGUF file with its kind of vocabulary would tokenize or decode some texts "
         "differently, such as '{}': load the folder with --weights instead",
         folder_.name(), printable(text));
  }

  const ModelSource& folder_;
  const Tokenizer& own_;
  const Tokenizer& made_;
};

uint32_t rows_of_model(const ModelSource& folder) {
  const auto name = folder.metadata().require<std::string_view>("general.architecture");
  return folder.metadata().require<uint32_t>(std::string(name) + ".vocab_size");
}

void note_special(const std::vector<std::string>& unlike, const std::string& source,
                  std::vector<std::string>* notes) {
  if (unlike.empty()) return;
  notes->push_back(
      fmt::format("next to {} of '{}', such as '{}', the GGUF file tokenizes spaces differently: "
                  "it cannot express that these tokens absorb white space",
                  count_text(unlike.size(), "special token"), source, printable(unlike.front())));
}

// Notes tokens around a text that the keys cannot express: a file can name one before and one
// behind the text, and names none if the tokenizer puts several.
void note_around(const Tokenizer& own, const Tokenizer& made, std::vector<std::string>* notes) {
  const std::vector<int32_t> wanted = own.encode("a");
  if (made.encode("a") == wanted) return;
  notes->push_back(
      fmt::format("'{}' adds {} before a text and {} after it, but a GGUF file can name only one "
                  "each: the file adds none, so the chat template must",
                  own.vocab().source, count_text(own.adds_bos() ? own.before().size() : 0, "token"),
                  count_text(own.vocab().add_eos ? own.behind().size() : 0, "token")));
}

void note_ends(const Vocab& own, const Vocab& made, std::vector<std::string>* notes) {
  for (const int32_t id : own.eog) {
    if (std::ranges::binary_search(made.eog, id)) continue;
    notes->push_back(
        fmt::format("token {} '{}' of '{}' ends a generation, which the file does not say: it has "
                    "room for three such tokens",
                    id, printable(own.tokens[id]), own.source));
  }
}

}  // namespace

FileVocabulary file_vocabulary(const ModelSource& folder) {
  FileVocabulary out;
  if (!folder.has_vocabulary()) {
    out.keys.set(kModelKey, std::string_view("no_vocab"));
    out.notes.push_back(
        fmt::format("'{}' has no tokenizer, so the GGUF file has no vocabulary and can be used "
                    "only with token ids",
                    folder.name()));
    return out;
  }
  const auto own = Tokenizer::from_source(folder);
  set_vocab(file_vocab_form(folder, *own, rows_of_model(folder)), &out.keys);
  if (const SourceTensor* types = folder.find_tensor("token_types.weight")) {
    const uint64_t rows = types->dims.size() == 1 ? 1 : types->dims[1];
    out.keys.set("tokenizer.ggml.token_type_count", static_cast<uint32_t>(rows));
  }
  GgufWriter keys = out.keys;  // has general.name, by which readers recognise some models
  keys.set("general.name", folder.metadata().require<std::string_view>("general.name"));
  const ModelSource file = parse_gguf(keys.finish(), "the file to be written");
  const auto made = Tokenizer::from_source(file);
  const Comparison comparison(folder, *own, *made);
  comparison.check_texts();
  note_special(comparison.unlike_special(), folder.name(), &out.notes);
  note_around(*own, *made, &out.notes);
  note_ends(own->vocab(), made->vocab(), &out.notes);
  return out;
}

}  // namespace hearth
