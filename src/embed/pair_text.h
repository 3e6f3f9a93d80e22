// Joins a query and a document to the text that rerankers were trained to read:
//
//   an encoder   [CLS] query [SEP] document [SEP], or of RoBERTa <s> query </s></s> document </s>;
//                the second text's tokens are of the second type (Devlin et al. 2019)
//   a decoder    a prompt with {query} and {document} in it: its file's template `rerank`, else
//                that of Qwen3-Reranker (Zhang et al. 2025)
//
// Control tokens that either text spells are text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace hearth {

// A query, prepared once for all of its pairs.
struct PairQuery {
  std::vector<int32_t> ids = {};  // for an encoder: the tokens before a document's
  // The text before the document, for a decoder, and the place of the query in it. It is not kept
  // as tokens, since its last token may join with the document's first word.
  std::string text = {};
  std::pair<size_t, size_t> place = {};
  size_t before = 0;  // the tokens before a document's
  uint32_t most = 0;  // the most tokens that a pair may have
};

struct PairTokens {
  std::vector<int32_t> ids;
  uint32_t second = 0;  // index of the document's first token, for an encoder; 0 for a decoder
  // Whether the pair would have more tokens than PairQuery::most even after the document is cut to
  // its own bound. If so, more of the document's end was cut off.
  bool too_long = false;
  size_t whole = 0;  // how many tokens there would be without cutting
};

// Returns the prompt that asks a decoder whether the document answers the query. Throws Error
// (kUnsupported) if the file has none and its vocabulary is not Qwen's.
std::string rank_prompt(const ModelSource& source, const Tokenizer& tokenizer);

class PairText {
 public:
  // Serves an encoder or, with a prompt, a decoder. Throws Error (kFile) for a prompt without
  // {query} before {document}. The tokenizer must outlive it.
  explicit PairText(const Tokenizer& tokenizer, const std::optional<std::string>& prompt = {});

  // Prepares a query for pairs of at most `most` tokens. Throws Error (kRequest, for the field
  // `query`) if the query leaves no room for a token of a document, and the errors of
  // Tokenizer::encode. `pace`: as in embed_text.h.
  PairQuery query(std::string_view text, uint32_t most, Pace* pace = nullptr) const;
  // Returns the tokens of a pair. The document has at most `max_of_document` of them. Its end is
  // cut off, so a caller that must not cut refuses a pair that is too long. Throws the errors of
  // Tokenizer::encode.
  PairTokens tokens(const PairQuery& query, std::string_view document, uint32_t max_of_document,
                    Pace* pace = nullptr) const;

 private:
  struct Prompt {
    std::string before, between;
    std::vector<int32_t> behind;
  };

  std::span<const int32_t> behind() const;

  const Tokenizer& tokenizer_;
  std::optional<Prompt> prompt_;
};

}  // namespace hearth
