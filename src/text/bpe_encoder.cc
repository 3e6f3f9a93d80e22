#include "text/bpe_encoder.h"

#include <algorithm>

#include "base/error.h"
#include "text/byte_level.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace hearth {

namespace {

bool must_have_token(uint8_t byte) { return (byte >= 0x20 && byte < 0x7F) || byte == '\n'; }

// A symbol is one byte, or the token that neighbours were merged into, in the list of a piece's
// symbols.
struct Symbol {
  int32_t id;  // kNone where a byte has no token
  int32_t prev;
  int32_t next;
  uint8_t byte;
};

// A candidate notes two neighbours that a rule merges, as they were at that time.
struct Candidate {
  uint32_t rank;
  int32_t left;
  int32_t left_id;
  int32_t right_id;
  int32_t merged;

  // The heap's top is its greatest, so the lowest rank is greatest, then the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

constexpr int32_t kGone = -2;  // the id of a symbol that was merged into its left neighbour

}  // namespace

struct BpeEncoder::Work {
  std::vector<std::string_view> pieces;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

BpeEncoder::BpeEncoder(Vocab& vocab, const TokenIndex& index, const PreTokenizerRule& rule)
    : vocab_(vocab),
      index_(index),
      merges_(vocab, index),
      pre_tokenizer_(rule),
      unk_(vocab.unk),
      whole_tokens_(rule.whole_tokens) {
  size_t missing = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    auto value = static_cast<uint8_t>(byte);
    byte_ids_[byte] = index.find(byte_level_character(value));
    if (byte_ids_[byte] != TokenIndex::kNone) continue;
    ++missing;
    if (must_have_token(value)) {
      fail(ErrorCode::kFile,
           "{}: tokenizer.ggml.tokens has no token '{}' for the byte 0x{:02X}, as a byte-level "
           "vocabulary must; the file is damaged: get or convert it again",
           vocab.source, byte_level_character(value), byte);
    }
  }
  if (missing > 0) {
    vocab.warnings.push_back(fmt::format(
        "{}: tokenizer.ggml.tokens has no tokens for {} of the 256 bytes; text with such bytes {}",
        vocab.source, missing, unk_ >= 0 ? "becomes unknown tokens" : "is refused"));
  }
}

void BpeEncoder::encode(std::string_view text, bool /*first*/, std::vector<int32_t>& ids) const {
  Work work;
  while (!text.empty()) {
    size_t valid = 0;
    while (size_t length = utf8_sequence(text.substr(valid))) valid += length;
    work.pieces.clear();
    pre_tokenizer_.split(text.substr(0, valid), work.pieces);
    for (std::string_view piece : work.pieces) encode_piece(piece, work, ids);
    text.remove_prefix(valid);
    if (text.empty()) break;
    auto byte = static_cast<uint8_t>(text[0]);
    push(byte, byte_ids_[byte], ids);
    text.remove_prefix(1);
  }
}

void BpeEncoder::encode_piece(std::string_view piece, Work& work, std::vector<int32_t>& ids) const {
  if (whole_tokens_) {
    int32_t id = index_.find(byte_level_encode(piece));
    if (id != TokenIndex::kNone && !is_guarded_token(vocab_, id)) {
      ids.push_back(id);
      return;
    }
  }
  auto count = static_cast<int32_t>(piece.size());
  work.symbols.clear();
  for (int32_t i = 0; i < count; ++i) {
    auto byte = static_cast<uint8_t>(piece[i]);
    work.symbols.push_back({byte_ids_[byte], i - 1, i + 1 < count ? i + 1 : -1, byte});
  }
  merge(work);
  for (int32_t i = 0; i >= 0; i = work.symbols[i].next) {
    push(work.symbols[i].byte, work.symbols[i].id, ids);
  }
}

void BpeEncoder::merge(Work& work) const {
  std::vector<Symbol>& symbols = work.symbols;
  std::vector<Candidate>& heap = work.heap;
  heap.clear();
  auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const Merge* rule = merges_.find(symbols[left].id, symbols[right].id);
    if (rule == nullptr) return false;
    heap.push_back({rule->rank, left, symbols[left].id, symbols[right].id, rule->merged});
    return true;
  };
  for (int32_t i = 0; i < static_cast<int32_t>(symbols.size()); ++i) consider(i, symbols[i].next);
  std::make_heap(heap.begin(), heap.end());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[best.left];
    // A neighbour may have been merged with something else since.
    if (left.id != best.left_id || left.next < 0 || symbols[left.next].id != best.right_id)
      continue;
    Symbol& right = symbols[left.next];
    left.id = best.merged;
    right.id = kGone;
    left.next = right.next;
    if (right.next >= 0) symbols[right.next].prev = best.left;
    if (consider(left.prev, best.left)) std::push_heap(heap.begin(), heap.end());
    if (consider(best.left, left.next)) std::push_heap(heap.begin(), heap.end());
  }
}

void BpeEncoder::push(uint8_t byte, int32_t id, std::vector<int32_t>& ids) const {
  if (id == TokenIndex::kNone) id = unk_;
  if (id == Vocab::kNone) {
    fail(ErrorCode::kRequest,
         "the text holds the byte 0x{:02X}, for which the model's vocabulary has no token: leave "
         "it out",
         byte);
  }
  ids.push_back(id);
}

}  // namespace hearth
