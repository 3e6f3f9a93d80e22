// Tokenizer: text to token ids and back, by the vocabulary of a model's file. Immutable: one object
// serves any number of threads.
//
//   auto tokenizer = Tokenizer::from_source(source);
//   std::vector<int32_t> ids = tokenizer->encode(prompt);  // BOS and EOS as the source says
//   stream.push(tokenizer->token_bytes(id));                // base/utf8_stream.h
//
// Text may be any bytes, below 2 GiB. What does not count as UTF-8 is kept byte for byte by
// byte-level BPE and by SentencePiece with byte tokens, and dropped by WordPiece, as are characters
// its cleaning drops (tokenizer/wordpiece_encoder.h). So, special tokens aside,
// decode(encode(text)) is always `text` for byte-level BPE. For SentencePiece it is `text` if that
// has no U+2581, which stands for a space. SentencePiece's unigram model gives back the normalised
// text (tokenizer/unigram_normalizer.h), in which U+FFFD stands for what is not UTF-8. Text that a
// tokenizer.json normalises or drops, or that a pre-tokenizer composes (PreTokenizerRule::nfc),
// does not come back as it was.
//
// Ids given to a function must lie in [0, size()): one that does not is refused (kRequest).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/model_source.h"
#include "formats/token_index.h"
#include "formats/vocab.h"
#include "tokenizer/encoder.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/text_normalizer.h"

namespace hearth {

struct EncodeOptions {
  // Put BOS ([CLS]) before and EOS ([SEP]) behind the text; none: by the vocabulary's rule.
  std::optional<bool> add_bos = std::nullopt;
  std::optional<bool> add_eos = std::nullopt;
  // Takes "<|im_end|>" and the like in the text as control tokens: for text that the program wrote,
  // such as a rendered chat template, never for untrusted text.
  bool parse_special = false;
  // The ranges [begin, end) of untrusted bytes in the text, sorted and disjoint, for parse_special.
  // A control token whose match touches one does not count, nor does a user-defined token that
  // looks like a marker of turns (tokenizer/special_tokens.h). Everything else works on the whole
  // text. So if no such token stands in these bytes, the ids are the same as without ranges.
  std::span<const std::pair<size_t, size_t>> untrusted = {};
  // Encoding may stop once there are more ids than this: the result then has the first ids, more
  // than `most` of them, for callers that refuse longer texts anyway.
  size_t most = std::numeric_limits<size_t>::max();
  Pace* pace = nullptr;  // null: no other work waits for this thread
};

class Tokenizer {
 public:
  // Throws as read_vocabulary() and the encoders' constructors do.
  static std::unique_ptr<Tokenizer> from_source(
      const ModelSource& source, const std::optional<std::string>& pre = std::nullopt);
  // Throws as check_vocab() and the encoders' constructors do.
  static std::unique_ptr<Tokenizer> from_vocab(Vocab vocab);

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Returns the text of `ids`. Control, unknown and unused tokens are shown by name, or not at all.
  // The space that SentencePiece and WordPiece put before the first word is removed. As in
  // SentencePiece, the unknown token of a unigram vocabulary is shown as U+2047 between spaces, and
  // its unused tokens are text.
  std::string decode(std::span<const int32_t> ids, bool render_special = false) const;

  // Appends the text of the next ids, for ids that come in parts. The caller sets `first` to true
  // before the first part and keeps it. Only where decodes_in_parts().
  void decode_part(std::span<const int32_t> ids, bool render_special, bool* first,
                   std::string* text) const;
  // Returns false where a tokenizer.json has rules for decoding, which need all ids at once.
  bool decodes_in_parts() const { return !rules_; }

  // Returns the bytes of one token inside a stream, which may be only a part of a character, or no
  // bytes; nothing is stripped from its beginning.
  std::string token_bytes(int32_t id, bool render_special = false) const;
  // Returns the token as the file spells it.
  const std::string& token_text(int32_t id) const;

  size_t size() const { return vocab_.tokens.size(); }
  // Return the ids of special tokens, Vocab::kNone where there is none.
  int32_t bos() const { return vocab_.bos; }
  int32_t eos() const { return vocab_.eos; }
  int32_t eot() const { return vocab_.eot; }
  // Returns whether BOS is put first where EncodeOptions do not say.
  bool adds_bos() const { return vocab_.add_bos.value_or(false); }
  // Return the ids that are put before and behind a text where EncodeOptions ask for BOS and EOS.
  std::span<const int32_t> before() const { return vocab_.before; }
  std::span<const int32_t> behind() const { return vocab_.behind; }
  // Returns whether the token ends a generation.
  bool is_eog(int32_t id) const;
  bool is_control(int32_t id) const;
  // Returns the token with exactly this text in the file, or Vocab::kNone.
  int32_t find_token(std::string_view text) const { return index_.find(text); }

  const Vocab& vocab() const { return vocab_; }
  std::span<const std::string> warnings() const { return vocab_.warnings; }

 private:
  explicit Tokenizer(Vocab vocab);

  struct Rules;  // normalizer, splitting and decoder of tokenizer.json

  void check_id(int32_t id) const;
  std::string normal_bytes(const std::string& token) const;
  // Normalises a part of a text, [offset, offset + text.size()), and encodes it.
  void encode_normalized(std::string_view text, size_t offset, Before before,
                         const EncodeOptions& options, Encoding& out) const;
  std::string decode_by_rules(std::span<const int32_t> ids, bool render_special) const;

  Vocab vocab_;  // without its merges, which the encoder keeps in its own form
  TokenIndex index_;
  SpecialTokens special_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Rules> rules_;         // null unless the vocabulary has rules
  std::unique_ptr<TextNormalizer> nfc_;  // set where the pre-tokenizer has nfc
};

}  // namespace hearth
