#include "tokenizer/bpe_encoder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/special_tokens.h"

namespace hearth {

namespace {

bool must_have_token(uint8_t byte) { return (byte >= 0x20 && byte < 0x7F) || byte == '\n'; }

// A symbol is one byte, or the token of several merged ones: an entry of a piece's linked list.
struct Symbol {
  int32_t id;  // kNone where a byte has no token
  int32_t prev;
  int32_t next;
  uint8_t byte;
};

// Two neighbours that a rule merges, with the ids that they had when they were found.
struct Candidate {
  uint32_t rank;
  int32_t left;
  int32_t left_id;
  int32_t right_id;
  int32_t merged;

  // A heap's top is its greatest element: the lowest rank counts as greatest, then the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

constexpr int32_t kGone = -2;  // the id of a symbol that was merged into its left neighbour

}  // namespace

struct BpeEncoder::Work {
  explicit Work(Pace& of) : pace(of), memory(&of) {}

  // Appends a symbol, linked with the one before it.
  void put(int32_t id, uint8_t byte) {
    const auto here = static_cast<int32_t>(symbols.size());
    if (here > 0) symbols.back().next = here;
    symbols.push_back({id, here - 1, -1, byte});
  }

  Pace& pace;
  MatchMemory memory;
  TextPieces pieces;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

BpeEncoder::BpeEncoder(Vocab& vocab, const TokenIndex& index, PreTokenizer pre_tokenizer,
                       bool whole_tokens)
    : vocab_(vocab),
      index_(index),
      merges_(vocab),
      pre_tokenizer_(std::move(pre_tokenizer)),
      whole_tokens_(whole_tokens) {}

BpeEncoder::BpeEncoder(Vocab& vocab, const TokenIndex& index, const PreTokenizerRule& rule)
    : BpeEncoder(vocab, index, PreTokenizer(rule), rule.whole_tokens) {
  find_bytes(vocab);
}

BpeEncoder::BpeEncoder(Vocab& vocab, const TokenIndex& index)
    : BpeEncoder(vocab, index, PreTokenizer(vocab.rules->cut, vocab.source),
                 vocab.rules->ignore_merges) {
  byte_fallback_ = vocab.rules->byte_fallback;
  fuse_unk_ = vocab.rules->fuse_unk;
  if (pre_tokenizer_.spells_bytes()) {
    find_bytes(vocab);
  } else {
    find_characters();
  }
}

void BpeEncoder::find_bytes(Vocab& vocab) {
  size_t missing = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    auto value = static_cast<uint8_t>(byte);
    byte_ids_[byte] = find(byte_level_character(value));
    if (byte_ids_[byte] != TokenIndex::kNone) continue;
    ++missing;
    if (must_have_token(value)) {
      fail(ErrorCode::kFile,
           "{}: {} has no token '{}' for the byte 0x{:02X}, which a byte-level vocabulary needs; "
           "the file is damaged: get or convert it again",
           vocab.source, vocab.tokens_field, byte_level_character(value), byte);
    }
  }
  if (missing > 0) {
    vocab.warnings.push_back(fmt::format(
        "{}: {} has no tokens for {} of the 256 bytes; text with such bytes {}", vocab.source,
        vocab.tokens_field, missing, vocab.unk >= 0 ? "becomes unknown tokens" : "is refused"));
  }
}

void BpeEncoder::find_characters() {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] =
        byte_fallback_ ? index_.find(fmt::format("<0x{:02X}>", byte)) : TokenIndex::kNone;
  }
  small_.reserve(kSmallCharacters);
  for (char32_t c = 0; c < kSmallCharacters; ++c) {
    std::string character;
    utf8_append(character, c);
    small_.push_back(find(character));
  }
}

int32_t BpeEncoder::find(std::string_view text) const {
  const int32_t id = index_.find(text);
  if (id == TokenIndex::kNone || is_guarded_token(vocab_, id)) return TokenIndex::kNone;
  if (vocab_.added.empty()) return id;
  const AddedRule* rule = find_added_rule(vocab_, id);
  return rule != nullptr && rule->outside ? TokenIndex::kNone : id;
}

int32_t BpeEncoder::find_character(std::string_view character) const {
  const char32_t c = utf8_decode(character);
  return c < kSmallCharacters ? small_[c] : find(character);
}

void BpeEncoder::encode(std::string_view text, Before before, Encoding& out) const {
  Work work(out.pace);
  bool at_start = before == Before::kNothing;
  while (!text.empty() && !out.is_over()) {
    size_t valid = 0;
    while (size_t length = utf8_sequence(text.substr(valid))) valid += length;
    pre_tokenizer_.split(text.substr(0, valid), at_start, work.memory, work.pieces);
    at_start = false;
    for (std::string_view piece : work.pieces.pieces) {
      if (out.is_over()) return;
      encode_piece(piece, work, out.ids);
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    auto byte = static_cast<uint8_t>(text[0]);
    push(byte, byte_ids_[byte], out.ids);
    out.pace.did(1);
    text.remove_prefix(1);
  }
}

void BpeEncoder::encode_piece(std::string_view piece, Work& work, std::vector<int32_t>& ids) const {
  const bool bytes = pre_tokenizer_.spells_bytes();
  if (whole_tokens_) {
    int32_t id = bytes ? find(byte_level_encode(piece)) : find(piece);
    if (id != TokenIndex::kNone && !is_guarded_token(vocab_, id)) {
      ids.push_back(id);
      work.pace.did(piece.size());
      return;
    }
  }
  work.symbols.clear();
  if (bytes) {
    put_bytes(piece, work);
  } else {
    put_characters(piece, work);
  }
  merge(work);
  for (int32_t i = 0; i >= 0; i = work.symbols[i].next) {
    push(work.symbols[i].byte, work.symbols[i].id, ids);
  }
}

void BpeEncoder::put_bytes(std::string_view piece, Work& work) const {
  for (char c : piece) {
    const auto byte = static_cast<uint8_t>(c);
    work.put(byte_ids_[byte], byte);
  }
}

bool BpeEncoder::put_fallback(std::string_view character, Work& work) const {
  if (!byte_fallback_) return false;
  auto has_token = [&](char c) { return byte_ids_[static_cast<uint8_t>(c)] != TokenIndex::kNone; };
  if (!std::ranges::all_of(character, has_token)) return false;
  put_bytes(character, work);
  return true;
}

void BpeEncoder::put_characters(std::string_view piece, Work& work) const {
  // The first byte of a run of unknown characters whose token is not put yet, since the next
  // character may join the run; -1: none.
  int unknown = -1;
  auto put_unknown = [&] {
    if (unknown >= 0) work.put(TokenIndex::kNone, static_cast<uint8_t>(unknown));
    unknown = -1;
  };
  while (!piece.empty()) {
    const std::string_view character = piece.substr(0, utf8_sequence(piece));
    piece.remove_prefix(character.size());
    const int32_t id = find_character(character);
    const auto byte = static_cast<uint8_t>(character[0]);
    if (id != TokenIndex::kNone) {
      put_unknown();
      work.put(id, byte);
    } else if (!put_fallback(character, work)) {
      if (!fuse_unk_) put_unknown();
      if (unknown < 0) unknown = byte;
    }
  }
  put_unknown();
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
  for (int32_t i = 0; i < static_cast<int32_t>(symbols.size()); ++i) {
    work.pace.did(1);
    consider(i, symbols[i].next);
  }
  std::make_heap(heap.begin(), heap.end());
  while (!heap.empty()) {
    work.pace.did(1);
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[best.left];
    // A candidate is outdated if one of its two symbols has been merged since.
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
  if (id == TokenIndex::kNone) id = vocab_.unk;
  if (id == Vocab::kNone) {
    fail(ErrorCode::kRequest,
         "the text has the byte 0x{:02X}, for which the model's vocabulary has no token: remove it",
         byte);
  }
  ids.push_back(id);
}

}  // namespace hearth
