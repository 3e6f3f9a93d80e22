#include "server/languages.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema_budget.h"
#include "server/request_error.h"

namespace hearth {
namespace {

// Shapes of one key have one grammar. What errors call them does not count.
std::string key_of(const OutputShape& shape) {
  std::string key = fmt::format("{} {} ", static_cast<int>(shape.kind), shape.choices.size());
  for (const std::string& choice : shape.choices) {
    key += fmt::format("{} {}", choice.size(), choice);
  }
  return key + shape.text;
}

RequestError refusal(const OutputShape& shape, const char* code, const Error& error) {
  return RequestError(ApiError{400, "invalid_request_error", code, error.what(), shape.name, {}});
}

std::shared_ptr<const Matcher> compile(const OutputShape& shape,
                                       std::shared_ptr<const VocabularyTrie> vocabulary) {
  try {
    return compile_shape(shape, std::move(vocabulary));
  } catch (const SchemaTooComplex& error) {
    throw refusal(shape, "schema_too_complex", error);
  } catch (const Error& error) {
    const char* code = shape.kind == OutputKind::kJsonSchema ? "invalid_schema" : "invalid_value";
    throw refusal(shape, code, error);
  }
}

}  // namespace

size_t Languages::Entry::bytes() const {
  return key.size() + begin->grammar().memory() + begin->memory();
}

std::shared_ptr<const Matcher> Languages::find(const OutputShape& shape,
                                               const Tokenizer& tokenizer) {
  const std::string key = key_of(shape);
  if (std::shared_ptr<const Matcher> begin = kept(key)) return begin;
  // Others go on meanwhile, and may compile the same.
  std::shared_ptr<const Matcher> begin = compile(shape, vocabulary(tokenizer));
  keep({key, begin});
  return begin;
}

std::shared_ptr<const VocabularyTrie> Languages::vocabulary(const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  if (vocabulary_ == nullptr) vocabulary_ = VocabularyTrie::of(tokenizer);
  return vocabulary_;
}

std::shared_ptr<const Matcher> Languages::kept(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->begin;
}

// Grammars grow while they are used, so all are measured anew.
void Languages::keep(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_front(std::move(entry));
  size_t bytes = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    bytes += at->bytes();
    at = bytes > kMostBytes ? entries_.erase(at) : std::next(at);
  }
}

}  // namespace hearth
