#include "embed/pair_text.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hearth {
namespace {

constexpr std::string_view kQuery = "{query}", kDocument = "{document}";

// That the model's authors publish, with the instruction that they give where a user has none.
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
         "'{}' does not say how it is asked about a query and a document: it has no template named "
         "rerank, and not the tokens of Qwen3-Reranker's prompt ({})",
         source.name(), marker);
  }
  return kQwen3Prompt;
}

PairText::PairText(const Tokenizer& tokenizer, const std::optional<std::string>& prompt)
    : tokenizer_(tokenizer) {
  if (!prompt) return;
  const size_t query = prompt->find(kQuery), document = prompt->find(kDocument);
  if (document == std::string::npos || query > document) {
    fail(ErrorCode::kFile, "the template rerank has no {} with a {} behind it", kQuery, kDocument);
  }
  const size_t between = query + kQuery.size(), behind = document + kDocument.size();
  prompt_ = Prompt{prompt->substr(0, query), prompt->substr(between, document - between), {}};
  prompt_->behind = tokenizer.encode(std::string_view(*prompt).substr(behind),
                                     {.add_bos = false, .add_eos = false, .parse_special = true});
}

PairText::Head PairText::encoded_head(std::string_view query, std::string_view document,
                                      size_t most, Pace* pace) const {
  EncodeOptions options{.add_bos = false, .add_eos = false};
  options.pace = pace;
  options.most = most;
  Head head;
  auto append = [&](std::span<const int32_t> ids) {
    head.ids.insert(head.ids.end(), ids.begin(), ids.end());
  };
  if (tokenizer_.adds_bos()) append(tokenizer_.before());
  append(tokenizer_.encode(query, options));
  const std::vector<int32_t>& between = tokenizer_.vocab().between;
  append(between.empty() ? tokenizer_.behind() : std::span<const int32_t>(between));
  head.before = head.ids.size();
  append(tokenizer_.encode(document, options));
  return head;
}

// The document's first word may join with what stands before it, so both are encoded together.
PairText::Head PairText::prompted_head(std::string_view query, std::string_view document,
                                       size_t most, Pace* pace) const {
  std::string text = prompt_->before;
  std::pair<size_t, size_t> foreign[2];
  foreign[0] = {text.size(), text.size() + query.size()};
  text += query;
  text += prompt_->between;
  EncodeOptions options{.add_eos = false, .parse_special = true};
  options.pace = pace;
  options.most = most;
  options.foreign = std::span(foreign, 1);
  Head head;
  head.before = tokenizer_.encode(text, options).size();
  foreign[1] = {text.size(), text.size() + document.size()};
  text += document;
  options.foreign = foreign;
  head.ids = tokenizer_.encode(text, options);
  return head;
}

PairTokens PairText::tokens(std::string_view query, std::string_view document, uint32_t most,
                            uint32_t most_of_document, Pace* pace) const {
  const size_t enough = pace == nullptr ? std::numeric_limits<size_t>::max() : most;
  Head head = prompt_ ? prompted_head(query, document, enough, pace)
                      : encoded_head(query, document, enough, pace);
  std::span<const int32_t> behind;
  if (prompt_) {
    behind = prompt_->behind;
  } else if (tokenizer_.vocab().add_eos) {
    behind = tokenizer_.behind();
  }
  if (head.before + behind.size() >= most) {
    fail_field(
        ErrorCode::kRequest, "query",
        "takes, with the marks of a pair, at least {} of the context's {} tokens, and leaves "
        "a document none: shorten it",
        head.before + behind.size(), most);
  }
  PairTokens pair;
  pair.second = prompt_ ? 0 : static_cast<uint32_t>(head.before);
  pair.ids = std::move(head.ids);
  pair.ids.resize(std::min<size_t>(pair.ids.size(), head.before + most_of_document));
  pair.whole = pair.ids.size() + behind.size();
  pair.too_long = pair.whole > most;
  pair.ids.resize(std::min<size_t>(pair.ids.size(), most - behind.size()));
  pair.ids.insert(pair.ids.end(), behind.begin(), behind.end());
  return pair;
}

}  // namespace hearth
