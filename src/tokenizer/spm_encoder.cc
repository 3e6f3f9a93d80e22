#include "tokenizer/spm_encoder.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/special_tokens.h"

namespace hearth {

namespace {

struct Symbol {
  int32_t offset;
  int32_t length;  // 0 once merged into the left neighbour
  int32_t prev;
  int32_t next;
  int32_t id;
};

struct Candidate {
  float score;
  int32_t left;
  int32_t length;  // of both symbols together; if it differs now, one of them has changed
  int32_t id;

  // A heap's top is its greatest element: the highest score counts as greatest, then the leftmost.
  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

class Merger {
 public:
  Merger(const Vocab& vocab, const TokenIndex& index, Pace& pace)
      : vocab_(vocab), index_(index), pace_(pace) {}

  // Merges the symbols of `text` and returns them; a length of 0 marks merged ones.
  const std::vector<Symbol>& run(std::string_view text) {
    text_ = text;
    symbols_.clear();
    heap_.clear();
    for (size_t offset = 0; offset < text.size();) {
      size_t length = std::max<size_t>(utf8_sequence(text.substr(offset)), 1);
      auto here = static_cast<int32_t>(symbols_.size());
      symbols_.push_back({static_cast<int32_t>(offset), static_cast<int32_t>(length), here - 1,
                          here + 1, find(text.substr(offset, length))});
      offset += length;
    }
    if (!symbols_.empty()) symbols_.back().next = -1;
    for (int32_t i = 0; i < static_cast<int32_t>(symbols_.size()); ++i) {
      pace_.did(1);
      consider(i);
    }
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      pace_.did(1);
      std::pop_heap(heap_.begin(), heap_.end());
      Candidate best = heap_.back();
      heap_.pop_back();
      Symbol& left = symbols_[best.left];
      if (left.length == 0 || left.next < 0) continue;
      Symbol& right = symbols_[left.next];
      if (left.length + right.length != best.length) continue;
      left.length = best.length;
      left.id = best.id;
      right.length = 0;
      left.next = right.next;
      if (right.next >= 0) symbols_[right.next].prev = best.left;
      if (left.prev >= 0 && consider(left.prev)) std::push_heap(heap_.begin(), heap_.end());
      if (consider(best.left)) std::push_heap(heap_.begin(), heap_.end());
    }
    return symbols_;
  }

 private:
  // Text that spells a control token must not become that token.
  int32_t find(std::string_view piece) const {
    int32_t id = index_.find(piece);
    return id != TokenIndex::kNone && is_guarded_token(vocab_, id) ? TokenIndex::kNone : id;
  }

  // Adds the candidate of a symbol and its right neighbour, if both together are a token.
  bool consider(int32_t left) {
    const Symbol& symbol = symbols_[left];
    if (symbol.next < 0) return false;
    int32_t length = symbol.length + symbols_[symbol.next].length;
    int32_t id = find(text_.substr(symbol.offset, length));
    if (id == TokenIndex::kNone) return false;
    heap_.push_back({vocab_.scores[id], left, length, id});
    return true;
  }

  const Vocab& vocab_;
  const TokenIndex& index_;
  Pace& pace_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace

size_t space_inside(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
  return std::min(text.find(kSpaceMark, at), text.size());
}

int byte_token_value(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  uint8_t value = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return error == std::errc() && end == token.data() + 5 ? value : -1;
}

SpmEncoder::SpmEncoder(const Vocab& vocab, const TokenIndex& index) : vocab_(vocab), index_(index) {
  for (const std::string& token : vocab.tokens) {
    if (space_inside(token) < token.size()) words_apart_ = false;
  }
  int first_missing = -1;
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = index.find(fmt::format("<0x{:02X}>", byte));
    if (byte_ids_[byte] != TokenIndex::kNone) {
      has_bytes_ = true;
    } else if (first_missing < 0) {
      first_missing = byte;
    }
  }
  if (has_bytes_ && first_missing >= 0) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.tokens has byte tokens, but not <0x{:02X}>; the file is damaged: get "
         "or convert it again",
         vocab.source, first_missing);
  }
  if (!has_bytes_ && vocab.unk == Vocab::kNone) {
    fail(ErrorCode::kFile,
         "{}: the vocabulary has neither byte tokens (<0x00> to <0xFF>) in tokenizer.ggml.tokens "
         "nor a tokenizer.ggml.unknown_token_id, so it cannot tokenize every text: use another "
         "conversion of the model",
         vocab.source);
  }
}

void SpmEncoder::encode(std::string_view text, Before before, Encoding& out) const {
  std::vector<int32_t>& ids = out.ids;
  std::string marked;
  marked.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
  if (before != Before::kText && vocab_.add_space_prefix) marked += kSpaceMark;
  for (char c : text) {
    if (c == ' ') {
      marked += kSpaceMark;
    } else {
      marked += c;
    }
  }
  Merger merger(vocab_, index_, out.pace);
  for (std::string_view rest = marked; !rest.empty() && !out.is_over();) {
    std::string_view piece = rest.substr(0, piece_length(rest));
    rest.remove_prefix(piece.size());
    for (const Symbol& symbol : merger.run(piece)) {
      if (symbol.length == 0) continue;
      if (symbol.id != TokenIndex::kNone) {
        ids.push_back(symbol.id);
      } else if (!has_bytes_) {
        ids.push_back(vocab_.unk);
      } else {
        for (char byte : piece.substr(symbol.offset, symbol.length)) {
          ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
        }
      }
    }
  }
}

size_t SpmEncoder::piece_length(std::string_view marked) const {
  return words_apart_ ? space_inside(marked) : marked.size();
}

}  // namespace hearth
