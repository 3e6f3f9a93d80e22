#include "formats/hf_vocab.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/printable.h"
#include "formats/config_reader.h"
#include "formats/hf_modules.h"
#include "formats/tiktoken_ranks.h"
#include "formats/token_index.h"
#include "formats/tokenizer_json.h"

namespace hearth {

namespace {

constexpr std::string_view kTokenizer = "tokenizer.json";
constexpr std::string_view kRanks = "tiktoken.model";
constexpr uint64_t kMaxVocabBytes = uint64_t{64} << 20;
// The pre-tokenizer of models with a tiktoken.model, and the number of ids that they reserve for
// special tokens.
constexpr const char* kRanksPre = "kimi-k2";
constexpr uint32_t kReserved = 256;

// A document that is an object of JSON, or an empty object.
class Document {
 public:
  Document(const ModelSource& source, std::string_view name) {
    if (const MappedFile* file = source.find_document(name)) {
      name_ = file->name();
      json_ = read_json_file(*file, kMaxVocabBytes);
    }
  }

  ConfigReader reader() const { return {json_.get_object(), name_}; }

 private:
  std::string name_;
  boost::json::value json_ = boost::json::object();
};

uint32_t model_tokens(const ModelSource& source) {
  const auto name = source.metadata().require<std::string_view>("general.architecture");
  return source.metadata().require<uint32_t>(std::string(name) + ".vocab_size");
}

// Returns the name of a special token: a string, or the "content" of an object.
std::optional<std::string> token_name(const ConfigReader& config, std::string_view key) {
  const boost::json::value* value = config.find(key);
  if (value == nullptr || !value->is_object()) return config.text(key);
  return config.object(key)->text("content");
}

void read_names(const ConfigReader& config, const TokenIndex& index, Vocab* vocab) {
  struct Name {
    std::string_view key;
    int32_t Vocab::*id;
  };
  constexpr std::array<Name, 6> kNames = {{{"bos_token", &Vocab::bos},
                                           {"eos_token", &Vocab::eos},
                                           {"unk_token", &Vocab::unk},
                                           {"sep_token", &Vocab::sep},
                                           {"pad_token", &Vocab::pad},
                                           {"mask_token", &Vocab::mask}}};
  for (const auto& [key, id] : kNames) {
    auto name = token_name(config, key);
    if (!name || vocab->*id != Vocab::kNone) continue;
    vocab->*id = index.find(*name);
    if (vocab->*id != Vocab::kNone) continue;
    vocab->warnings.push_back(fmt::format("{}: {} is '{}', which is not a token and is ignored",
                                          config.file(), key, printable(*name)));
  }
}

// Returns the ids that end a generation: the file has a number or an array.
std::vector<int32_t> read_ends(const ConfigReader& config, uint32_t tokens) {
  constexpr std::string_view kKey = "eos_token_id";
  const boost::json::value* value = config.find(kKey);
  std::vector<int32_t> ends;
  if (value == nullptr) return ends;
  auto add = [&](const boost::json::value& id) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= tokens) {
      config.refuse(kKey, fmt::format("ids below {}, the tokens of the model", tokens));
    }
    ends.push_back(static_cast<int32_t>(id.get_int64()));
  };
  if (const boost::json::array* several = value->if_array()) {
    std::ranges::for_each(*several, add);
  } else {
    add(*value);
  }
  return ends;
}

// Adds the special tokens of a vocabulary of ranks: those that tokenizer_config.json names, and
// placeholders for the other ids behind the ranks that the model has rows for.
void add_special_tokens(const ConfigReader& config, uint32_t most, Vocab* vocab) {
  const auto ranks = static_cast<uint32_t>(vocab->tokens.size());
  const uint32_t end = ranks + std::min(kReserved, most - ranks);
  for (uint32_t id = ranks; id < end; ++id) {
    vocab->tokens.push_back(fmt::format("<|reserved_token_{}|>", id));
    vocab->types.push_back(TokenType::kControl);
  }
  const boost::json::value* added = config.find("added_tokens_decoder");
  if (added == nullptr) return;
  if (!added->is_object()) config.refuse("added_tokens_decoder", "an object");
  for (const auto& [key, value] : added->get_object()) {
    uint32_t id = 0;
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc{} || stop != key.data() + key.size() || id < ranks || id >= end ||
        !value.is_object()) {
      fail(ErrorCode::kFile,
           "'{}': added_tokens_decoder has '{}', which is not an id from {} to {} with a token: "
           "the files do not belong together, download them again",
           config.file(), printable({key.data(), key.size()}), ranks, end - 1);
    }
    const ConfigReader token(value.get_object(), config.file(), "added_tokens_decoder.");
    if (auto text = token.text("content")) vocab->tokens[id] = *std::move(text);
    if (!token.flag_or("special", true)) vocab->types[id] = TokenType::kUserDefined;
  }
}

// Reads whether sentence-transformers lower the case of texts before the tokenizer sees them.
void lower_text(const ConfigReader& config, Vocab* vocab) {
  constexpr std::string_view kKey = "do_lower_case";
  if (!config.flag_or(kKey, false)) return;
  if (vocab->kind != VocabKind::kWordPiece) {
    config.fail_unsupported(kKey, "with this vocabulary it supports false");
  }
  vocab->lowercase = true;
}

}  // namespace

bool hf_has_vocabulary(const ModelSource& source) {
  return source.find_document(kTokenizer) != nullptr || source.find_document(kRanks) != nullptr;
}

Vocab hf_vocabulary(const ModelSource& source) {
  const uint32_t tokens = model_tokens(source);
  const Document beside(source, "tokenizer_config.json");
  Vocab vocab;
  if (const MappedFile* file = source.find_document(kTokenizer)) {
    read_tokenizer_json(*file, tokens, &vocab);
  } else if (const MappedFile* ranks = source.find_document(kRanks)) {
    read_tiktoken_ranks(*ranks, tokens, &vocab);
    add_special_tokens(beside.reader(), tokens, &vocab);
    vocab.pre = kRanksPre;
  } else {
    fail(ErrorCode::kFile,
         "'{}': the folder has no vocabulary ({} or {}), so text cannot be tokenized; download one "
         "of these files, too",
         source.name(), kTokenizer, kRanks);
  }
  lower_text(Document(source, kHfLengths).reader(), &vocab);
  const TokenIndex index(vocab.tokens);
  const Document map(source, "special_tokens_map.json");
  read_names(beside.reader(), index, &vocab);
  read_names(map.reader(), index, &vocab);
  if (auto add = beside.reader().flag("add_bos_token")) vocab.add_bos = add;
  if (auto add = beside.reader().flag("add_eos_token")) vocab.add_eos = *add;

  std::vector<int32_t> ends;
  for (const char* name : {"generation_config.json", "config.json"}) {
    const Document document(source, name);
    if (ends.empty()) ends = read_ends(document.reader(), tokens);
  }
  auto is_token = [&](int32_t id) { return static_cast<size_t>(id) < vocab.tokens.size(); };
  std::erase_if(ends, [&](int32_t id) { return !is_token(id); });
  if (vocab.eos == Vocab::kNone && !ends.empty()) vocab.eos = ends.front();
  if (vocab.bos == Vocab::kNone && !vocab.before.empty()) vocab.bos = vocab.before.front();
  if (vocab.kind == VocabKind::kWordPiece && vocab.eos == Vocab::kNone) vocab.eos = vocab.sep;
  check_vocab(vocab);
  find_end_tokens(vocab, std::move(ends));
  return vocab;
}

}  // namespace hearth
