// Fuzzes tokenizers of all four kinds with any bytes, and vocabularies made of any bytes. The first
// byte chooses the tokenizer, the second its options; the rest is the text.
//   - byte-level BPE returns every text byte for byte, or its equal in NFC where the pre-tokenizer
//     normalises; SentencePiece returns all but U+2581, its unigram model the normalised text
//   - ids lie inside the vocabulary; a stream of single tokens is well-formed UTF-8 and equals the
//     stream of all tokens; a stop string is never returned
//   - an inconsistent vocabulary is refused by an Error

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/utf8_stream.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/spm_encoder.h"
#include "tokenizer/stop_strings.h"
#include "tokenizer/test_charsmap.h"
#include "tokenizer/test_vocab.h"
#include "tokenizer/text_normalizer.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

constexpr std::array<const char*, 12> kPre = {
    "default",     "gpt-2",  "llama-bpe", "qwen2",  "deepseek-llm", "deepseek-coder",
    "deepseek-v3", "falcon", "starcoder", "gpt-4o", "tekken",       "qwen35"};
constexpr size_t kBpe = kPre.size();
constexpr size_t kUnigramBytes = kBpe + 4;

void add_special(Vocab& vocab) {
  add_token(vocab, "<|im_end|>", TokenType::kControl);
  add_token(vocab, "<|im", TokenType::kUserDefined);
  add_token(vocab, "   ", TokenType::kUserDefined);
}

Vocab small_unigram() {
  Vocab vocab = unigram_vocab(
      {{"_", -2}, {"a", -8}, {"aa", -9}, {"_a", -9.5}, {"\xC3\xA9", -3}, {"_the", -7}, {"th", -6}});
  add_special(vocab);
  return vocab;
}

// Adds two vocabularies: one with a character map and an unknown token, and one with byte tokens
// that removes no spaces.
void add_unigram(std::vector<std::unique_ptr<Tokenizer>>* tokenizers) {
  Vocab mapped = small_unigram();
  mapped.charsmap = CharsmapMaker::make(
      {{"e\xCC\x81", "\xC3\xA9"}, {"\t", " "}, {"A", "a"}, {"AA", ""}, {"\xC2\xBD", " a "}});
  tokenizers->push_back(Tokenizer::from_vocab(std::move(mapped)));
  Vocab bytes = small_unigram();
  constexpr char kHex[] = "0123456789ABCDEF";
  for (uint32_t byte = 0; byte < 256; ++byte) {
    add_token(bytes, {'<', '0', 'x', kHex[byte / 16], kHex[byte % 16], '>'}, TokenType::kByte);
  }
  bytes.add_space_prefix = bytes.remove_extra_whitespaces = false;
  tokenizers->push_back(Tokenizer::from_vocab(std::move(bytes)));
}

std::vector<std::unique_ptr<Tokenizer>> make_tokenizers() {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (const char* pre : kPre) {
    Vocab vocab = bpe_vocab(
        {"Ġ t", "h e", "Ġt he", "a a", "aa aa", "Ã ©", "Ċ Ċ", "Ġ Ġ", "1 2", "' s", "ð Ł", "aa a"},
        pre);
    add_special(vocab);
    tokenizers.push_back(Tokenizer::from_vocab(std::move(vocab)));
  }
  Vocab spm =
      spm_vocab({{"_", -9}, {"a", -8}, {"aa", -1}, {"_a", -2}, {"\xC3\xA9", -3}, {"__", -4}});
  spm.add_space_prefix = false;
  tokenizers.push_back(Tokenizer::from_vocab(std::move(spm)));
  Vocab phi = spm_vocab({{"_", -9}, {"t", -8}, {"_t", -1}, {"he", -2}, {"_the", -7}});
  add_special(phi);
  phi.added = {{.id = 259 + 5, .strip_right = true}};
  tokenizers.push_back(Tokenizer::from_vocab(std::move(phi)));
  tokenizers.push_back(Tokenizer::from_vocab(
      wordpiece_vocab({"_a", "a", "aa", "_the", "e", "_\xE6\x97\xA5", "_,", "_e"})));
  add_unigram(&tokenizers);
  return tokenizers;
}

bool well_formed(std::string_view text) {
  while (size_t length = utf8_sequence(text)) text.remove_prefix(length);
  return text.empty();
}

std::string spaces_for_marks(std::string text) {
  for (size_t at = 0; (at = text.find(kSpaceMark, at)) != std::string::npos;) {
    text.replace(at, kSpaceMark.size(), " ");
  }
  return text;
}

std::string composed(std::string text) {
  const NormalizeStep step = NfcStep{};
  MatchMemory memory;
  const size_t most = 8 * text.size();
  return TextNormalizer(std::span(&step, 1), "").run({std::move(text), {}}, most, memory).text;
}

void check_streams(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Utf8Stream by_token;
  Utf8Stream at_once;
  StopMatcher stops({"aa", "the ", "\xC3\xA9"});
  std::string text;
  std::string bytes;
  std::string shown;
  for (int32_t id : ids) {
    std::string piece = tokenizer.token_bytes(id, true);
    bytes += piece;
    std::string ready = by_token.push(piece);
    text += ready;
    shown += stops.push(ready);
  }
  text += by_token.flush();
  shown += stops.flush();
  std::string whole = at_once.push(bytes);
  whole += at_once.flush();
  HEARTH_CHECK(text == whole, "a stream depends on how it was cut");
  HEARTH_CHECK(well_formed(text), "a stream is not UTF-8");
  HEARTH_CHECK(text.starts_with(shown), "what is shown is not a beginning of the text");
  for (const char* stop : {"aa", "the ", "\xC3\xA9"}) {
    HEARTH_CHECK(shown.find(stop) == std::string::npos, "a stop string was given out");
  }
}

void run_text(const Tokenizer& tokenizer, size_t which, uint8_t flags, const std::string& text) {
  EncodeOptions options;
  if (flags & 1) options.add_bos = options.add_eos = false;
  options.parse_special = (flags & 2) != 0;
  std::vector<int32_t> ids = tokenizer.encode(text, options);
  HEARTH_CHECK(ids == tokenizer.encode(text, options), "the same text becomes other tokens");
  std::string decoded = tokenizer.decode(ids, true);
  if (which < kBpe) {
    bool same = find_pre_tokenizer(kPre[which])->nfc ? composed(decoded) == composed(text)
                                                     : decoded == text;
    HEARTH_CHECK(same, "byte-level BPE lost something");
  }
  if (which == kBpe && (flags & 1) && !(flags & 2)) {
    HEARTH_CHECK(decoded == spaces_for_marks(text), "SentencePiece lost something");
  }
  if (which == kUnigramBytes && (flags & 1) && !(flags & 2) && well_formed(text)) {
    HEARTH_CHECK(decoded == spaces_for_marks(text), "a unigram model with bytes lost something");
  }
  check_streams(tokenizer, ids);
}

// Makes a character map of the first bytes, which may be invalid, and tokenizes all bytes with it.
void run_charsmap(uint8_t flags, const std::string& text) {
  Vocab vocab = small_unigram();
  size_t units = std::min<size_t>(flags, text.size() / sizeof(uint32_t));
  vocab.charsmap = CharsmapMaker::bytes_of({static_cast<uint32_t>(units * sizeof(uint32_t))});
  vocab.charsmap += text;
  vocab.charsmap += '\0';
  try {
    std::unique_ptr<Tokenizer> tokenizer = Tokenizer::from_vocab(std::move(vocab));
    check_streams(*tokenizer, tokenizer->encode(text));
  } catch (const Error&) {
    return;
  }
}

// Makes a vocabulary of the text: its lines are tokens and also merges or scores.
void run_vocabulary(uint8_t flags, std::string_view text) {
  Vocab vocab = flags % 4 == 1   ? bpe_vocab({"a a"})
                : flags % 4 == 2 ? spm_vocab({})
                : flags % 4 == 3 ? unigram_vocab({})
                                 : wordpiece_vocab({});
  vocab.bos = static_cast<int32_t>(flags >> 2) * 8 - 1;
  std::vector<std::string> merges;
  for (size_t line = 0; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string token(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (vocab.kind == VocabKind::kBpe && line % 2 == 1) {
      merges.push_back(token);
    } else {
      auto type = static_cast<TokenType>(token.size() % 7);
      add_token(vocab, token, type, static_cast<float>(token.size()));
    }
  }
  std::string sample;
  for (const std::string& token : vocab.tokens) sample += token;
  try {
    if (!merges.empty()) {
      vocab.merges = parse_merge_rules(vocab, TokenIndex(vocab.tokens), merges);
    }
    find_end_tokens(vocab);
    std::unique_ptr<Tokenizer> tokenizer = Tokenizer::from_vocab(std::move(vocab));
    check_streams(*tokenizer, tokenizer->encode(sample, {.parse_special = true}));
  } catch (const Error&) {
    return;
  }
}

void run(const uint8_t* data, size_t size) {
  static const std::vector<std::unique_ptr<Tokenizer>> kTokenizers = make_tokenizers();
  if (size < 2) return;
  size_t which = data[0] % (kTokenizers.size() + 4);
  std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (which < kTokenizers.size()) {
    run_text(*kTokenizers[which], which, data[1], text);
  } else if (which < kTokenizers.size() + 2) {
    run_vocabulary(data[1], text);
  } else {
    run_charsmap(data[1], text);
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::run(data, size);
  return 0;
}
