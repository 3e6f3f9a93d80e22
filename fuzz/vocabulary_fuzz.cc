// Fuzzes vocabularies of GGUF files. A file is made of the bytes; its keys are well-formed and have
// any values. Only hearth::Error may be thrown. A vocabulary that is read is consistent, and its
// tokenizer takes any text. The first bytes choose keys and their values, and the lines after them
// are the tokens.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "choices.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "tokenizer/test_charsmap.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace hearth {
namespace {

constexpr std::array<const char*, 6> kModels = {"gpt2", "llama", "bert", "t5", "none", ""};
constexpr std::array<const char*, 6> kPre = {"default", "llama-bpe", "qwen2", "tekken", "x", ""};
constexpr std::array<const char*, 10> kIds = {
    "bos_token_id",       "eos_token_id",     "eot_token_id",  "eom_token_id", "unknown_token_id",
    "seperator_token_id", "padding_token_id", "mask_token_id", "cls_token_id", "no_token_id"};
constexpr std::array<const char*, 7> kFlags = {
    "add_bos_token",           "add_eos_token",        "add_sep_token",
    "add_space_prefix",        "normalizer.lowercase", "normalizer.strip_accents",
    "remove_extra_whitespaces"};

std::string key(const char* name) { return std::string("tokenizer.ggml.") + name; }

// Sets an id that is small, just beyond the tokens, or invalid in every vocabulary, in several
// types.
void set_id(GgufWriter& writer, const char* name, uint8_t choice) {
  int value = choice >> 3;
  switch (choice & 7) {
    case 0:
      return;
    case 1:
      return writer.set(key(name), value - 1);
    case 2:
      return writer.set(key(name), UINT32_MAX - static_cast<uint32_t>(value));
    case 3:
      return writer.set(key(name), INT64_MIN + value);
    case 4:
      return writer.set(key(name), static_cast<float>(value));
    default:
      return writer.set(key(name), static_cast<uint32_t>(value));
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Sets a character map that replaces tokens by their neighbours, or bytes and strings that are not
// a map.
void set_charsmap(GgufWriter& writer, uint8_t choice, const std::vector<std::string>& tokens) {
  constexpr size_t kMaxRules = 16;
  CharsmapMaker::Rules rules;
  for (size_t i = 0; i + 1 < tokens.size() && i < kMaxRules; ++i) {
    rules[tokens[i].substr(0, kMaxRules)] = tokens[i + 1];
  }
  std::string bytes = CharsmapMaker::make(rules);
  if (choice & 8 && !tokens.empty()) bytes = tokens.front();
  const std::string name = key("precompiled_charsmap");
  switch (choice & 7) {
    case 0:
      return;
    case 1:
      return writer.set(name, std::vector<int8_t>(bytes.begin(), bytes.end()));
    case 2:
      return writer.set(name, bytes);
    case 3:
      return writer.set(name, "BAAAAAAAAABhAA==");
    case 4:
      return writer.set(name, std::vector<int32_t>{4, 0, 0, 0});
    default:
      return writer.set(name, std::vector<uint8_t>(bytes.begin(), bytes.end()));
  }
}

std::vector<std::byte> make_file(Choices choices) {
  GgufWriter writer;
  uint8_t kinds = choices.byte(), lists = choices.byte(), flags = choices.byte();
  writer.set("general.architecture", "llama");
  if (kinds & 0x80) writer.set("general.name", "Phi-3");
  writer.set(key("model"), kModels[kinds % kModels.size()]);
  writer.set(key("pre"), kPre[(kinds >> 3) % kPre.size()]);
  for (const char* id : kIds) set_id(writer, id, choices.byte());
  for (size_t i = 0; i < kFlags.size(); ++i) {
    if (flags >> i & 1) writer.set(key(kFlags[i]), (lists >> i & 1) != 0);
  }
  uint8_t charsmap = choices.byte();
  std::vector<std::string> tokens = lines_of(choices.rest());
  set_charsmap(writer, charsmap, tokens);
  std::vector<std::string> merges;
  std::vector<int32_t> types;
  std::vector<float> scores;
  for (const std::string& token : tokens) {
    merges.push_back(token + " " + tokens.front());
    types.push_back(static_cast<int32_t>(token.size() % 7));
    scores.push_back(static_cast<float>(token.size()));
  }
  // Makes one list too short, or gives one token a type that does not exist.
  if ((lists & 0xc0) == 0xc0 && !types.empty()) types.back() = 7;
  if ((lists & 0xc0) == 0x80 && !scores.empty()) scores.pop_back();
  if (lists & 1) writer.set(key("token_type"), types);
  if (lists & 2) writer.set(key("scores"), scores);
  if (lists & 4) writer.set(key("merges"), lists & 8 ? tokens : merges);
  if (!(lists & 16)) writer.set(key("tokens"), tokens);
  return writer.finish();
}

void check_id(const Vocab& vocab, int32_t id) {
  HEARTH_CHECK(id == Vocab::kNone || (id >= 0 && static_cast<size_t>(id) < vocab.tokens.size()),
               "an id is of the vocabulary");
}

void check_read(const Vocab& vocab) {
  HEARTH_CHECK(vocab.types.size() == vocab.tokens.size(), "every token has a type");
  bool scored = vocab.kind == VocabKind::kSpm || vocab.kind == VocabKind::kUnigram;
  HEARTH_CHECK(!scored || vocab.scores.size() == vocab.tokens.size(), "every token has a score");
  for (int32_t id :
       {vocab.bos, vocab.eos, vocab.eot, vocab.eom, vocab.unk, vocab.sep, vocab.pad, vocab.mask}) {
    check_id(vocab, id);
  }
  for (int32_t id : vocab.eog) check_id(vocab, id);
  for (const AddedRule& rule : vocab.added) check_id(vocab, rule.id);
}

void run(std::string_view input) {
  try {
    ModelSource source = parse_gguf(make_file(Choices(input)), "vocabulary.gguf");
    check_read(read_vocabulary(source));
    std::unique_ptr<Tokenizer> tokenizer = Tokenizer::from_source(source);
    std::vector<int32_t> ids = tokenizer->encode(input, {.parse_special = true});
    for (int32_t id : ids) check_id(tokenizer->vocab(), id);
    tokenizer->decode(ids, true);
  } catch (const Error&) {
    // Inconsistent files must throw this exception and no other.
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
