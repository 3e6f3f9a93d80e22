#include "embed/pair_text.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hearth {
namespace {

constexpr std::string_view kQuery = "{query}", kDocument = "{document}";

// The prompt that the model's authors publish, with the instruction that they use by default.
constexpr const char* kQwen3Prompt =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that "
    "answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n";

}  // namespace

std::string rank_prompt(const ModelSource& source, const Tokenizer& tokenizer) {
  const auto said = source.metadata().get<std::string_view>("tokenizer.chat_template.rerank");
  if (said) return std::string(*said);
  for (const char* marker : {"<|im_start|>", "<|im_end|>"}) {
    const int32_t id = tokenizer.find_token(marker);
    if (id != Vocab::kNone && tokenizer.is_control(id)) continue;
    fail(ErrorCode::kUnsupported,
         "'{}' cannot rank documents, as its prompt format is unknown: it has no chat template "
         "named rerank, and lacks the token {} of Qwen3-Reranker's prompt",
         source.name(), marker);
  }
  return kQwen3Prompt;
}

PairText::PairText(const Tokenizer& tokenizer, const std::optional<std::string>& prompt)
    : tokenizer_(tokenizer) {
  if (!prompt) return;
  const size_t query = prompt->find(kQuery), document = prompt->find(kDocument);
  if (document == std::string::npos || query > document) {
    fail(ErrorCode::kFile, "the chat template named rerank must contain {} followed by {}", kQuery,
         kDocument);
  }
  const size_t between = query + kQuery.size(), behind = document + kDocument.size();
  prompt_ = Prompt{prompt->substr(0, query), prompt->substr(between, document - between), {}};
  prompt_->behind = tokenizer.encode(std::string_view(*prompt).substr(behind),
                                     {.add_bos = false, .add_eos = false, .parse_special = true});
}

std::span<const int32_t> PairText::behind() const {
  if (prompt_) return prompt_->behind;
  return tokenizer_.vocab().add_eos ? tokenizer_.behind() : std::span<const int32_t>();
}

PairQuery PairText::query(std::string_view text, uint32_t most, Pace* pace) const {
  PairQuery query{.most = most};
  EncodeOptions options{.add_eos = false, .parse_special = prompt_.has_value()};
  options.pace = pace;
  if (pace != nullptr) options.most = most;
  if (prompt_) {
    query.text = prompt_->before;
    query.place = {query.text.size(), query.text.size() + text.size()};
    query.text += text;
    query.text += prompt_->between;
    options.untrusted = std::span(&query.place, 1);
    query.before = tokenizer_.encode(query.text, options).size();
  } else {
    query.ids = tokenizer_.encode(text, options);
    const std::span<const int32_t> between = tokenizer_.vocab().between;
    const std::span<const int32_t> marks = between.empty() ? tokenizer_.behind() : between;
    query.ids.insert(query.ids.end(), marks.begin(), marks.end());
    query.before = query.ids.size();
  }
  if (query.before + behind().size() < most) return query;
  fail_field(ErrorCode::kRequest, "query",
             "takes at least {} of the context's {} tokens, including special tokens, and leaves "
             "no room for a document: shorten it",
             query.before + behind().size(), most);
}

PairTokens PairText::tokens(const PairQuery& query, std::string_view document,
                            uint32_t max_of_document, Pace* pace) const {
  EncodeOptions options{.add_eos = false, .parse_special = prompt_.has_value()};
  options.pace = pace;
  if (pace != nullptr) options.most = query.most;
  PairTokens pair;
  if (prompt_) {
    std::string text = query.text;
    const std::pair<size_t, size_t> untrusted[] = {query.place,
                                                   {text.size(), text.size() + document.size()}};
    text += document;
    options.untrusted = untrusted;
    pair.ids = tokenizer_.encode(text, options);
  } else {
    options.add_bos = false;
    const std::vector<int32_t> ids = tokenizer_.encode(document, options);
    pair.ids = query.ids;
    pair.ids.insert(pair.ids.end(), ids.begin(), ids.end());
    pair.second = static_cast<uint32_t>(query.before);
  }
  const std::span<const int32_t> end = behind();
  pair.ids.resize(std::min<size_t>(pair.ids.size(), query.before + max_of_document));
  pair.whole = pair.ids.size() + end.size();
  pair.too_long = pair.whole > query.most;
  pair.ids.resize(std::min<size_t>(pair.ids.size(), query.most - end.size()));
  pair.ids.insert(pair.ids.end(), end.begin(), end.end());
  return pair;
}

}  // namespace hearth
