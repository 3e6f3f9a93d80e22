#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/bpe_encoder.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/spm_encoder.h"
#include "tokenizer/token_decoder.h"
#include "tokenizer/unigram_encoder.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/wordpiece_encoder.h"

namespace hearth {

namespace {

// The text that SentencePiece shows for the unknown token: U+2047 between spaces.
constexpr std::string_view kUnknownSurface = " \xe2\x81\x87 ";

std::unique_ptr<Encoder> make_encoder(Vocab& vocab, const TokenIndex& index) {
  if (vocab.kind == VocabKind::kSpm) return std::make_unique<SpmEncoder>(vocab, index);
  if (vocab.kind == VocabKind::kWordPiece) return std::make_unique<WordPieceEncoder>(vocab, index);
  if (vocab.kind == VocabKind::kUnigram) return std::make_unique<UnigramEncoder>(vocab, index);
  if (vocab.rules) return std::make_unique<BpeEncoder>(vocab, index);
  const PreTokenizerRule* rule = find_pre_tokenizer(vocab.pre);
  if (rule == nullptr) {
    fail(ErrorCode::kUnsupported, "{}: there is no pre-tokenizer '{}'; supported are {}",
         vocab.source, vocab.pre, pre_tokenizer_names());
  }
  return std::make_unique<BpeEncoder>(vocab, index, *rule);
}

std::unique_ptr<TextNormalizer> make_nfc(const Vocab& vocab) {
  if (vocab.kind != VocabKind::kBpe || vocab.rules) return nullptr;
  if (!find_pre_tokenizer(vocab.pre)->nfc) return nullptr;
  const NormalizeStep step = NfcStep{};
  return std::make_unique<TextNormalizer>(std::span(&step, 1), vocab.source);
}

// Returns a byte for each byte of a part of the text that begins at `offset`: 1 if it lies in one
// of the ranges `untrusted`. Empty where there are no ranges.
std::vector<uint8_t> untrusted_bytes(SpecialTokens::ByteRanges untrusted, size_t offset,
                                     size_t size) {
  if (untrusted.empty()) return {};
  std::vector<uint8_t> bytes(size, 0);
  // The ranges are sorted.
  auto range = std::ranges::upper_bound(untrusted, offset, {}, &std::pair<size_t, size_t>::second);
  for (; range != untrusted.end() && range->first < offset + size; ++range) {
    for (size_t i = std::max(range->first, offset); i < std::min(range->second, offset + size);
         ++i) {
      bytes[i - offset] = 1;
    }
  }
  return bytes;
}

std::vector<std::pair<size_t, size_t>> ranges_of(const std::vector<uint8_t>& bytes) {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    if (ranges.empty() || ranges.back().second != i) ranges.emplace_back(i, i);
    ranges.back().second = i + 1;
  }
  return ranges;
}

}  // namespace

struct Tokenizer::Rules {
  explicit Rules(const Vocab& vocab)
      : normalizer(vocab.rules->normalize, vocab.source),
        special(vocab,
                [&](std::string_view text) {
                  return normalizer.run({std::string(text), {}}, kMaxTextBytes, memory).text;
                }),
        decoder(vocab) {}

  MatchMemory memory;  // used during construction only
  TextNormalizer normalizer;
  SpecialTokens special;  // special tokens that are found in normalised text
  TokenDecoder decoder;
};

std::unique_ptr<Tokenizer> Tokenizer::from_source(const ModelSource& source,
                                                  const std::optional<std::string>& pre) {
  return from_vocab(read_vocabulary(source, pre));
}

std::unique_ptr<Tokenizer> Tokenizer::from_vocab(Vocab vocab) {
  check_vocab(vocab);
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(vocab)));
}

Tokenizer::Tokenizer(Vocab vocab)
    : vocab_(std::move(vocab)),
      index_(vocab_.tokens),
      special_(vocab_),
      encoder_(make_encoder(vocab_, index_)),
      nfc_(make_nfc(vocab_)) {
  if (vocab_.rules) rules_ = std::make_unique<Rules>(vocab_);
  if (vocab_.before.empty() && vocab_.bos != Vocab::kNone) vocab_.before = {vocab_.bos};
  if (vocab_.behind.empty() && vocab_.eos != Vocab::kNone) vocab_.behind = {vocab_.eos};
  vocab_.merges.clear();
  vocab_.merges.shrink_to_fit();
  vocab_.charsmap.clear();
  vocab_.charsmap.shrink_to_fit();
  if (index_.duplicates() > 0) {
    vocab_.warnings.push_back(
        fmt::format("{}: {} has {} tokens with the same text as another; of these, the one with "
                    "the highest id is used",
                    vocab_.source, vocab_.tokens_field, index_.duplicates()));
  }
}

Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    fail(ErrorCode::kRequest, "a text of {} bytes is too long to tokenize at once: split it",
         text.size());
  }
  std::vector<int32_t> ids;
  if (options.add_bos.value_or(adds_bos())) {
    ids.insert(ids.end(), vocab_.before.begin(), vocab_.before.end());
  }
  Pace none;
  Encoding out{ids, options.pace != nullptr ? *options.pace : none, options.most};
  Before before = Before::kNothing;
  for (const TextPart& part :
       special_.partition(text, options.parse_special, options.untrusted, &out.pace)) {
    if (out.is_over()) break;
    if (part.token != Vocab::kNone) {
      ids.push_back(part.token);
    } else if (rules_) {
      auto offset = static_cast<size_t>(part.text.data() - text.data());
      encode_normalized(part.text, offset, before, options, out);
    } else if (nfc_) {
      MatchMemory memory(&out.pace);
      encoder_->encode(nfc_->run({std::string(part.text), {}}, kMaxTextBytes, memory).text, before,
                       out);
    } else {
      encoder_->encode(part.text, before, out);
    }
    before = part.token == Vocab::kNone ? Before::kText : Before::kSpecial;
  }
  if (options.add_eos.value_or(vocab_.add_eos)) {
    ids.insert(ids.end(), vocab_.behind.begin(), vocab_.behind.end());
  }
  return ids;
}

void Tokenizer::encode_normalized(std::string_view text, size_t offset, Before before,
                                  const EncodeOptions& options, Encoding& out) const {
  if (rules_->normalizer.empty() && rules_->special.empty()) {
    return encoder_->encode(text, before, out);
  }
  TextNormalizer::Marked normal{std::string(text),
                                untrusted_bytes(options.untrusted, offset, text.size())};
  MatchMemory memory(&out.pace);
  normal = rules_->normalizer.run(std::move(normal), kMaxTextBytes, memory);
  const auto untrusted = ranges_of(normal.untrusted);
  for (const TextPart& part :
       rules_->special.partition(normal.text, options.parse_special, untrusted, &out.pace)) {
    if (out.is_over()) return;
    if (part.token != Vocab::kNone) {
      out.ids.push_back(part.token);
    } else {
      encoder_->encode(part.text, before, out);
    }
    before = part.token == Vocab::kNone ? Before::kText : Before::kSpecial;
  }
}

void Tokenizer::check_id(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= vocab_.tokens.size()) {
    fail(ErrorCode::kRequest, "{} is not a token of the model: its ids are 0 to {}", id,
         vocab_.tokens.size() - 1);
  }
}

std::string Tokenizer::normal_bytes(const std::string& token) const {
  if (vocab_.kind == VocabKind::kBpe) return byte_level_decode(token);
  std::string bytes;
  std::string_view rest = token;
  while (!rest.empty()) {
    if (rest.starts_with(kSpaceMark)) {
      bytes += ' ';
      rest.remove_prefix(kSpaceMark.size());
    } else {
      bytes += rest[0];
      rest.remove_prefix(1);
    }
  }
  return bytes;
}

std::string Tokenizer::token_bytes(int32_t id, bool render_special) const {
  check_id(id);
  const std::string& token = vocab_.tokens[id];
  const TokenType type = vocab_.types[id];
  const bool unigram = vocab_.kind == VocabKind::kUnigram;
  if (unigram && (type == TokenType::kUserDefined || type == TokenType::kUnused)) {
    return normal_bytes(token);
  }
  if (rules_ && (type == TokenType::kNormal || type == TokenType::kUserDefined)) {
    // Added tokens are stored as text, not in the byte-level alphabet.
    const bool plain = type == TokenType::kUserDefined && rules_->decoder.spells_bytes();
    return plain ? token : rules_->decoder.bytes(token);
  }
  if (type == TokenType::kUserDefined) return token;
  if (int value = type == TokenType::kByte ? byte_token_value(token) : -1; value >= 0) {
    return std::string(1, static_cast<char>(value));
  }
  if (type == TokenType::kNormal || type == TokenType::kByte) return normal_bytes(token);
  if (render_special) return token;
  return std::string(unigram && type == TokenType::kUnknown ? kUnknownSurface : "");
}

std::string Tokenizer::decode_by_rules(std::span<const int32_t> ids, bool render_special) const {
  const TokenDecoder& decoder = rules_->decoder;
  const std::string_view stripped = decoder.stripped();
  size_t left = decoder.stripped_begin();
  std::string text;
  bool word = false;
  for (int32_t id : ids) {
    std::string bytes = token_bytes(id, render_special);
    const TokenType type = vocab_.types[id];
    word = type == TokenType::kNormal || type == TokenType::kUserDefined;
    for (; word && left > 0 && bytes.starts_with(stripped); --left) {
      bytes.erase(0, stripped.size());
    }
    // Special tokens do not count as words: the word after them is still the first.
    if (word && !bytes.empty()) left = 0;
    text += bytes;
  }
  for (size_t i = 0; word && i < decoder.stripped_end() && text.ends_with(stripped); ++i) {
    text.resize(text.size() - stripped.size());
  }
  return text;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool render_special) const {
  if (rules_) return decode_by_rules(ids, render_special);
  std::string text;
  bool first = true;
  decode_part(ids, render_special, &first, &text);
  return text;
}

void Tokenizer::decode_part(std::span<const int32_t> ids, bool render_special, bool* first,
                            std::string* text) const {
  const bool unigram = vocab_.kind == VocabKind::kUnigram;
  const bool strips = vocab_.kind == VocabKind::kWordPiece || vocab_.add_space_prefix ||
                      vocab_.remove_extra_whitespaces;
  for (int32_t id : ids) {
    std::string bytes = token_bytes(id, render_special);
    TokenType type = vocab_.types[id];
    bool word = type == TokenType::kNormal || type == TokenType::kByte ||
                (unigram && (type == TokenType::kUserDefined || type == TokenType::kUnused));
    if (strips && *first && word && bytes.starts_with(' ')) bytes.erase(0, 1);
    // Special tokens before the first word do not count as a word. If
    // vocab_.remove_extra_whitespaces is set, neither does a word that was only a space.
    bool shown = word || type == TokenType::kUserDefined ||
                 (unigram && type == TokenType::kUnknown && !render_special);
    if (shown && !(vocab_.remove_extra_whitespaces && bytes.empty())) *first = false;
    *text += bytes;
  }
}

const std::string& Tokenizer::token_text(int32_t id) const {
  check_id(id);
  return vocab_.tokens[id];
}

bool Tokenizer::is_eog(int32_t id) const {
  return std::binary_search(vocab_.eog.begin(), vocab_.eog.end(), id);
}

bool Tokenizer::is_control(int32_t id) const {
  check_id(id);
  return vocab_.types[id] == TokenType::kControl;
}

}  // namespace hearth
