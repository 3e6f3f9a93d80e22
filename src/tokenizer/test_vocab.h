// Makes small vocabularies for tests and fuzzers, one of each kind.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "formats/merge_rules.h"
#include "formats/vocab.h"
#include "tokenizer/byte_level.h"

namespace hearth {

inline int32_t add_token(Vocab& vocab, std::string text, TokenType type = TokenType::kNormal,
                         float score = 0) {
  vocab.tokens.push_back(std::move(text));
  vocab.types.push_back(type);
  bool scored = vocab.kind == VocabKind::kSpm || vocab.kind == VocabKind::kUnigram;
  if (scored) vocab.scores.push_back(score);
  return static_cast<int32_t>(vocab.tokens.size()) - 1;
}

// Adds words w<id> until the vocabulary has `tokens` tokens.
inline void add_words(Vocab& vocab, size_t tokens) {
  while (vocab.tokens.size() < tokens) add_token(vocab, "w" + std::to_string(vocab.tokens.size()));
}

// Makes a byte-level BPE vocabulary: ids 0 to 255 are the bytes; each merge (in the byte-level
// alphabet, where a space is U+0120) adds the token that it makes.
inline Vocab bpe_vocab(const std::vector<std::string>& merges, const std::string& pre = "gpt-2") {
  Vocab vocab;
  vocab.source = "test.gguf";
  vocab.kind = VocabKind::kBpe;
  vocab.pre = pre;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    add_token(vocab, byte_level_character(static_cast<uint8_t>(byte)));
  }
  for (const std::string& merge : merges) {
    size_t space = merge.find(' ');
    add_token(vocab, merge.substr(0, space) + merge.substr(space + 1));
  }
  vocab.merges = parse_merge_rules(vocab, TokenIndex(vocab.tokens), merges);
  return vocab;
}

// Returns the merges as text, as files have them.
inline std::vector<std::string> merge_texts(const Vocab& vocab) {
  std::vector<std::string> texts;
  for (const MergeRule& rule : vocab.merges) {
    texts.push_back(vocab.tokens[rule.left] + " " + vocab.tokens[rule.right]);
  }
  return texts;
}

struct SpmPiece {
  std::string text;
  float score;
};

// Returns the text with U+2581 for every "_".
inline std::string with_space_marks(const std::string& text) {
  std::string marked;
  for (char c : text) marked += c == '_' ? std::string("\xe2\x96\x81") : std::string(1, c);
  return marked;
}

// Makes a vocabulary of 0 <unk>, 1 <s>, 2 </s>, 3 to 258 the byte tokens, then the pieces; U+2581
// is written as "_".
inline Vocab spm_vocab(std::initializer_list<SpmPiece> pieces) {
  Vocab vocab;
  vocab.source = "test.gguf";
  vocab.kind = VocabKind::kSpm;
  vocab.unk = add_token(vocab, "<unk>", TokenType::kUnknown);
  vocab.bos = add_token(vocab, "<s>", TokenType::kControl);
  vocab.eos = add_token(vocab, "</s>", TokenType::kControl);
  vocab.add_bos = true;
  vocab.add_space_prefix = true;
  constexpr char kHex[] = "0123456789ABCDEF";
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string name = {'<', '0', 'x', kHex[byte / 16], kHex[byte % 16], '>'};
    add_token(vocab, name, TokenType::kByte);
  }
  for (const SpmPiece& piece : pieces) {
    add_token(vocab, with_space_marks(piece.text), TokenType::kNormal, piece.score);
  }
  return vocab;
}

// Makes a vocabulary of 0 <s>, 1 <pad>, 2 </s>, 3 <unk>, then the pieces; U+2581 is written as "_".
inline Vocab unigram_vocab(std::initializer_list<SpmPiece> pieces) {
  Vocab vocab;
  vocab.source = "test.gguf";
  vocab.kind = VocabKind::kUnigram;
  vocab.bos = add_token(vocab, "<s>", TokenType::kControl);
  vocab.pad = add_token(vocab, "<pad>", TokenType::kControl);
  vocab.eos = add_token(vocab, "</s>", TokenType::kControl);
  vocab.unk = add_token(vocab, "<unk>", TokenType::kUnknown);
  vocab.add_bos = vocab.add_eos = true;
  vocab.add_space_prefix = vocab.remove_extra_whitespaces = true;
  for (const SpmPiece& piece : pieces) {
    add_token(vocab, with_space_marks(piece.text), TokenType::kNormal, piece.score);
  }
  return vocab;
}

// Makes a vocabulary of 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], 4 [MASK], then the pieces; U+2581 is
// written as "_".
inline Vocab wordpiece_vocab(std::initializer_list<std::string> pieces) {
  Vocab vocab;
  vocab.source = "test.gguf";
  vocab.kind = VocabKind::kWordPiece;
  vocab.pad = add_token(vocab, "[PAD]", TokenType::kControl);
  vocab.unk = add_token(vocab, "[UNK]", TokenType::kUnknown);
  vocab.bos = add_token(vocab, "[CLS]", TokenType::kControl);
  vocab.eos = vocab.sep = add_token(vocab, "[SEP]", TokenType::kControl);
  vocab.mask = add_token(vocab, "[MASK]", TokenType::kControl);
  vocab.add_bos = vocab.add_eos = true;
  for (const std::string& piece : pieces) {
    bool first = piece[0] == '_';
    add_token(vocab, first ? "\xe2\x96\x81" + piece.substr(1) : piece);
  }
  return vocab;
}

}  // namespace hearth
