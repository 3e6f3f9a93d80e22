#include "tokenizer/wordpiece_encoder.h"

#include <utf8proc.h>

#include <array>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/spm_encoder.h"

namespace hearth {

namespace {

constexpr size_t kMaxWordCharacters = 100;

bool is_white_space(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || c == ' ' || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_dropped(char32_t c, utf8proc_category_t category) {
  return c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(char32_t c, utf8proc_category_t category) {
  if (c < 0x80)
    return c > 0x20 && c < 0x7F && category != UTF8PROC_CATEGORY_LU &&
           category != UTF8PROC_CATEGORY_LL && category != UTF8PROC_CATEGORY_ND;
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Returns whether c is an ideograph. The last block but two begins at U+2B920 in the published
// tokenizers, not at U+2B820 where Unicode's block does; models were trained with that.
bool is_ideograph(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                                     {0x3400, 0x4DBF},
                                                                     {0x20000, 0x2A6DF},
                                                                     {0x2A700, 0x2B73F},
                                                                     {0x2B740, 0x2B81F},
                                                                     {0x2B920, 0x2CEAF},
                                                                     {0xF900, 0xFAFF},
                                                                     {0x2F800, 0x2FA1F}}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

// The canonical decomposition of one character: the longest has four.
class Decomposition {
 public:
  explicit Decomposition(char32_t c) {
    int boundary = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(c), buffer_.data(),
        static_cast<utf8proc_ssize_t>(buffer_.size()), UTF8PROC_DECOMPOSE, &boundary);
    HEARTH_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(buffer_.size()),
                 "a canonical decomposition is short");
    count_ = static_cast<size_t>(count);
  }
  std::span<const utf8proc_int32_t> characters() const { return {buffer_.data(), count_}; }

 private:
  std::array<utf8proc_int32_t, 8> buffer_;
  size_t count_ = 0;
};

}  // namespace

WordPieceEncoder::WordPieceEncoder(const Vocab& vocab, const TokenIndex& index)
    : index_(index),
      unk_(vocab.unk),
      lowercase_(vocab.lowercase),
      strip_accents_(vocab.strip_accents) {
  if (unk_ == Vocab::kNone) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.unknown_token_id is missing and no token is named [UNK]: a WordPiece "
         "vocabulary needs it, convert the model again",
         vocab.source);
  }
}

void WordPieceEncoder::encode(std::string_view text, Before /*before*/, Encoding& out) const {
  std::string word(kSpaceMark);
  size_t characters = 0;
  auto end_word = [&] {
    if (characters > 0) encode_word(word, characters, out.ids);
    word.resize(kSpaceMark.size());
    characters = 0;
  };
  auto add = [&](char32_t c) {
    utf8_append(
        word,
        lowercase_ ? static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))) : c);
    ++characters;
  };
  auto take = [&](char32_t c) {
    utf8proc_category_t category = category_of(c);
    if (strip_accents_ && category == UTF8PROC_CATEGORY_MN) return;
    if (is_punctuation(c, category) || is_ideograph(c)) {
      end_word();
      add(c);
      end_word();
    } else {
      add(c);
    }
  };
  while (!text.empty() && !out.is_over()) {
    out.pace.did(1);
    size_t length = utf8_sequence(text);
    if (length == 0) {
      text.remove_prefix(1);
      continue;
    }
    char32_t c = utf8_decode(text.substr(0, length));
    text.remove_prefix(length);
    if (is_white_space(c)) {
      end_word();
    } else if (is_dropped(c, category_of(c))) {
      continue;
    } else if (strip_accents_ && c >= 0x80) {
      const Decomposition parts(c);
      for (utf8proc_int32_t part : parts.characters()) take(static_cast<char32_t>(part));
    } else {
      take(c);
    }
  }
  end_word();
}

void WordPieceEncoder::encode_word(const std::string& word, size_t characters,
                                   std::vector<int32_t>& ids) const {
  if (characters > kMaxWordCharacters) {
    ids.push_back(unk_);
    return;
  }
  size_t before = ids.size();
  std::string_view rest = word;
  while (!rest.empty()) {
    TokenIndex::Match match = index_.longest_prefix(rest);
    if (match.id == TokenIndex::kNone) {
      ids.resize(before);
      ids.push_back(unk_);
      return;
    }
    ids.push_back(match.id);
    rest.remove_prefix(match.length);
  }
}

}  // namespace hearth
