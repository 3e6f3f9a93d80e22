// A vocabulary for checking texts against grammars without a model: it has a token for every byte,
// whose id is the byte, and a last one that ends a generation.
#pragma once

#include <memory>
#include <vector>

#include "grammar/vocabulary_trie.h"

namespace hearth {

inline constexpr int32_t kByteVocabularyEnd = 256;

inline std::vector<VocabularyToken> single_byte_tokens() {
  std::vector<VocabularyToken> tokens(kByteVocabularyEnd);
  for (size_t byte = 0; byte < tokens.size(); ++byte) {
    tokens[byte].bytes = {static_cast<char>(byte)};
  }
  tokens.push_back({.role = TokenRole::kEnd});
  return tokens;
}

inline std::shared_ptr<const VocabularyTrie> single_byte_vocabulary() {
  return std::make_shared<const VocabularyTrie>(single_byte_tokens());
}

}  // namespace hearth
