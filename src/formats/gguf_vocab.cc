#include "formats/gguf_vocab.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/base64.h"
#include "base/error.h"
#include "base/printable.h"
#include "formats/merge_rules.h"

namespace hearth {

namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";
constexpr std::string_view kMarkedBpe = "gemma4";

[[noreturn]] void fail_no_vocabulary(const ModelSource& file, std::string_view why) {
  fail(ErrorCode::kFile,
       "{}: the file has no vocabulary ({}), so text cannot be tokenized; use a file that was "
       "converted with its vocabulary",
       file.name(), why);
}

VocabKind kind_of(const ModelSource& file) {
  auto model = file.metadata().get<std::string_view>(kModel);
  if (!model) fail_no_vocabulary(file, "tokenizer.ggml.model is missing");
  if (!gguf_has_vocabulary(file)) {
    fail_no_vocabulary(file, fmt::format("tokenizer.ggml.model is {}", *model));
  }
  if (*model == "gpt2" || *model == kMarkedBpe) return VocabKind::kBpe;
  if (*model == "llama") return VocabKind::kSpm;
  if (*model == "bert") return VocabKind::kWordPiece;
  if (*model == "t5") return VocabKind::kUnigram;
  fail(ErrorCode::kUnsupported,
       "{}: tokenizer.ggml.model is '{}', which is not supported; supported are gpt2 (byte-level "
       "BPE), gemma4 (BPE), llama (SentencePiece), bert (WordPiece) and t5 (SentencePiece unigram)",
       file.name(), printable(*model));
}

// Returns the id at `key`, or kNone if the key is missing or says -1.
int32_t read_id(const ModelSource& file, std::string_view key) {
  auto id = file.metadata().get<int64_t>(key);
  if (!id || *id == -1 || *id == std::numeric_limits<uint32_t>::max()) return Vocab::kNone;
  if (*id < 0 || *id > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::kFile,
         "{}: {} is {}, which is not a token id; the file is damaged, get or convert it again",
         file.name(), key, *id);
  }
  return static_cast<int32_t>(*id);
}

int32_t id_by_name(const Vocab& vocab, std::string_view name) {
  auto found = std::find(vocab.tokens.begin(), vocab.tokens.end(), name);
  return found == vocab.tokens.end() ? Vocab::kNone
                                     : static_cast<int32_t>(found - vocab.tokens.begin());
}

int32_t if_in_range(const Vocab& vocab, int32_t id) {
  return static_cast<size_t>(id) < vocab.tokens.size() ? id : Vocab::kNone;
}

void read_types(const ModelSource& file, Vocab& vocab) {
  auto types = file.metadata().get<std::vector<int32_t>>("tokenizer.ggml.token_type");
  if (!types) {
    vocab.types.assign(vocab.tokens.size(), TokenType::kNormal);
    return;
  }
  vocab.types.reserve(types->size());
  for (size_t i = 0; i < types->size(); ++i) {
    int32_t type = (*types)[i];
    if (type < 0 || type > static_cast<int32_t>(TokenType::kByte)) {
      fail(ErrorCode::kFile,
           "{}: tokenizer.ggml.token_type[{}] is {}; types are 1 to 6: the file is damaged, get or "
           "convert it again",
           file.name(), i, type);
    }
    vocab.types.push_back(static_cast<TokenType>(type));
  }
}

void read_ids(const ModelSource& file, Vocab& vocab) {
  for (const auto& [key, id] : kVocabIdKeys) {
    vocab.*id = read_id(file, key);
    // Fine-tuned files often name a padding token beyond the vocabulary; this program never pads.
    bool unused = id == &Vocab::pad || id == &Vocab::mask;
    if (!unused || vocab.*id == if_in_range(vocab, vocab.*id)) continue;
    vocab.warnings.push_back(
        fmt::format("{}: {} is {}, beyond the {} tokens of the vocabulary, and is not used",
                    file.name(), key, vocab.*id, vocab.tokens.size()));
    vocab.*id = Vocab::kNone;
  }
}

void read_bpe(const ModelSource& file, Vocab& vocab) {
  auto merges = file.metadata().get<std::vector<std::string>>("tokenizer.ggml.merges");
  if (!merges) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.merges is missing; a BPE vocabulary needs it, convert the model again",
         file.name());
  }
  vocab.merges = parse_merge_rules(vocab, TokenIndex(vocab.tokens), *merges);
}

// Returns the rules of Gemma 4's tokenizer: spaces become U+2581, text is not pre-split, single
// characters merge, and a character without a token becomes its bytes' tokens. GGUF files name no
// pre-tokenizer for that; a folder's tokenizer.json states it.
TextRules marked_rules() {
  constexpr const char* kMark = "\xE2\x96\x81";
  return {.normalize = {ReplaceStep{{" ", false}, kMark}},
          .cut = {},
          .decode = {ReplaceStep{{kMark, false}, " "}, ByteFallbackStep{}, FuseStep{}},
          .ignore_merges = false,
          .byte_fallback = true,
          .fuse_unk = true};
}

void read_scores(const ModelSource& file, Vocab& vocab) {
  auto scores = file.metadata().get<std::vector<float>>("tokenizer.ggml.scores");
  if (!scores) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.scores is missing; a SentencePiece vocabulary needs it, convert the "
         "model again",
         file.name());
  }
  vocab.scores = *std::move(scores);
}

void read_spm(const ModelSource& file, Vocab& vocab) {
  read_scores(file, vocab);
  // The special ids of Llama's vocabulary, which old files do not state.
  if (vocab.unk == Vocab::kNone) vocab.unk = if_in_range(vocab, 0);
  if (vocab.bos == Vocab::kNone) vocab.bos = if_in_range(vocab, 1);
  if (vocab.eos == Vocab::kNone) vocab.eos = if_in_range(vocab, 2);
  vocab.add_bos = true;
  vocab.add_space_prefix =
      file.metadata().get<bool>("tokenizer.ggml.add_space_prefix").value_or(true);
}

void read_wordpiece(const ModelSource& file, Vocab& vocab) {
  auto or_named = [&](int32_t id, std::string_view name) {
    return id != Vocab::kNone ? id : id_by_name(vocab, name);
  };
  const Metadata& metadata = file.metadata();
  int32_t cls = read_id(file, "tokenizer.ggml.cls_token_id");
  vocab.bos = or_named(cls != Vocab::kNone ? cls : vocab.bos, "[CLS]");
  vocab.sep = or_named(vocab.sep, "[SEP]");
  vocab.unk = or_named(vocab.unk, "[UNK]");
  vocab.mask = or_named(vocab.mask, "[MASK]");
  vocab.eos = vocab.sep;
  vocab.add_bos = true;
  vocab.lowercase = metadata.get<bool>("tokenizer.ggml.normalizer.lowercase").value_or(true);
  // BERT strips accents wherever it lowers the case.
  vocab.strip_accents =
      metadata.get<bool>("tokenizer.ggml.normalizer.strip_accents").value_or(vocab.lowercase);
}

// Returns the bytes of SentencePiece's character map; some converters write them in base64.
std::string read_charsmap(const ModelSource& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  const MetaValue* value = file.metadata().find(kKey);
  if (value == nullptr) return {};
  if (value->is_array() &&
      (value->element_type == MetaType::kUint8 || value->element_type == MetaType::kInt8)) {
    return {reinterpret_cast<const char*>(value->payload.data()), value->payload.size()};
  }
  if (value->type != MetaType::kString) {
    fail(ErrorCode::kFile,
         "{}: {} is {}; it must be an array of uint8 or int8, or a string in base64", file.name(),
         kKey, meta_value_type_text(*value));
  }
  auto bytes = base64_decode(*file.metadata().get<std::string_view>(kKey));
  if (!bytes) {
    fail(ErrorCode::kFile,
         "{}: {} is a string, but not base64; the file is damaged, get or convert it again",
         file.name(), kKey);
  }
  return *std::move(bytes);
}

void read_unigram(const ModelSource& file, Vocab& vocab) {
  const Metadata& metadata = file.metadata();
  read_scores(file, vocab);
  vocab.charsmap = read_charsmap(file);
  if (vocab.bos == Vocab::kNone) vocab.bos = read_id(file, "tokenizer.ggml.cls_token_id");
  if (vocab.eos == Vocab::kNone) vocab.eos = vocab.sep;
  if (vocab.eos == Vocab::kNone) vocab.eos = id_by_name(vocab, "</s>");
  if (vocab.unk == Vocab::kNone) {
    auto unknown = std::find(vocab.types.begin(), vocab.types.end(), TokenType::kUnknown);
    vocab.unk = if_in_range(vocab, static_cast<int32_t>(unknown - vocab.types.begin()));
  }
  vocab.add_bos = false;
  // The defaults are SentencePiece's own.
  vocab.add_space_prefix = metadata.get<bool>("tokenizer.ggml.add_space_prefix").value_or(true);
  vocab.remove_extra_whitespaces =
      metadata.get<bool>("tokenizer.ggml.remove_extra_whitespaces").value_or(true);
}

// Sets the ids between the two texts of a pair. A WordPiece vocabulary has one [SEP] there (its
// EOS). Others have EOS and then the separator, which is EOS again if the file names none (as in
// RoBERTa). If the file says that no separator is added, they have only EOS.
void read_between(const ModelSource& file, Vocab& vocab) {
  if (vocab.eos == Vocab::kNone) return;
  vocab.between = {vocab.eos};
  if (vocab.kind == VocabKind::kWordPiece) return;
  if (!file.metadata().get<bool>("tokenizer.ggml.add_sep_token").value_or(true)) return;
  vocab.between.push_back(vocab.sep != Vocab::kNone ? vocab.sep : vocab.eos);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Phi-3's special tokens take the white space after them; its GGUF files do not say so.
void find_strip_right(const ModelSource& file, Vocab& vocab) {
  std::string name = file.metadata().get<std::string>("general.name").value_or("");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (!contains(name, "phi-3") && !contains(name, "phi3")) return;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& token = vocab.tokens[id];
    TokenType type = vocab.types[id];
    bool special = type == TokenType::kControl || type == TokenType::kUserDefined;
    bool keeps_space = token == "<unk>" || token == "<s>" || token == "<|endoftext|>";
    if ((special && !keeps_space) || token == "</s>") {
      vocab.added.push_back({.id = static_cast<int32_t>(id), .strip_right = true});
    }
  }
}

}  // namespace

bool gguf_has_vocabulary(const ModelSource& file) {
  auto model = file.metadata().get<std::string_view>(kModel);
  return model && *model != "no_vocab" && *model != "none";
}

Vocab gguf_vocabulary(const ModelSource& file) {
  const Metadata& metadata = file.metadata();
  Vocab vocab;
  vocab.source = file.name();
  vocab.kind = kind_of(file);
  auto tokens = metadata.get<std::vector<std::string>>("tokenizer.ggml.tokens");
  if (!tokens) fail_no_vocabulary(file, "tokenizer.ggml.tokens is missing");
  vocab.tokens = *std::move(tokens);
  read_types(file, vocab);
  read_ids(file, vocab);
  if (vocab.kind == VocabKind::kBpe) read_bpe(file, vocab);
  if (metadata.get<std::string_view>(kModel) == kMarkedBpe) {
    vocab.rules = marked_rules();
  } else if (vocab.kind == VocabKind::kBpe) {
    vocab.pre = metadata.get<std::string>(kPre).value_or("");
  }
  if (vocab.kind == VocabKind::kSpm) read_spm(file, vocab);
  if (vocab.kind == VocabKind::kWordPiece) read_wordpiece(file, vocab);
  if (vocab.kind == VocabKind::kUnigram) read_unigram(file, vocab);
  if (auto add_bos = metadata.get<bool>("tokenizer.ggml.add_bos_token")) vocab.add_bos = add_bos;
  // Some converters wrote false, but llama.cpp adds BOS anyway: the models were trained only with
  // BOS.
  if (vocab.rules) vocab.add_bos = true;
  if (vocab.kind == VocabKind::kWordPiece) {
    // add_eos_token is about generation; [SEP] has a key of its own.
    vocab.add_eos = metadata.get<bool>("tokenizer.ggml.add_sep_token").value_or(true);
  } else {
    bool by_kind = vocab.kind == VocabKind::kUnigram;
    vocab.add_eos = metadata.get<bool>("tokenizer.ggml.add_eos_token").value_or(by_kind);
  }
  read_between(file, vocab);
  check_vocab(vocab);
  find_end_tokens(vocab);
  find_strip_right(file, vocab);
  return vocab;
}

}  // namespace hearth
