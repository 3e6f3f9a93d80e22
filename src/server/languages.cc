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

RequestError refusal(const OutputShape& shape, const char* code, std::string message) {
  if (!message.starts_with(shape.name)) message = shape.name + " " + message;
  return RequestError(ApiError{400, "invalid_request_error", code, message, shape.name, {}});
}

std::shared_ptr<const Grammar> compile(const OutputShape& shape, const ByteSet& spellable) {
  try {
    return compile_shape(shape, spellable);
  } catch (const SchemaTooComplex& error) {
    throw refusal(shape, "schema_too_complex", error.what());
  } catch (const Error& error) {
    const char* code = shape.kind == OutputKind::kJsonSchema ? "invalid_schema" : "invalid_value";
    throw refusal(shape, code, error.what());
  }
}

}  // namespace

size_t Languages::Entry::bytes() const {
  return key.size() + begin->grammar().memory() + begin->memory();
}

std::shared_ptr<const Matcher> Languages::find(const OutputShape& shape,
                                               const Tokenizer& tokenizer) {
  Entry entry{key_of(shape), nullptr};
  if (std::shared_ptr<const Matcher> begin = kept(entry.key)) return begin;
  // Others go on meanwhile, and may compile the same.
  std::shared_ptr<const VocabularyTrie> tokens = vocabulary(tokenizer);
  entry.begin =
      std::make_shared<const Matcher>(compile(shape, tokens->single_bytes()), std::move(tokens));
  std::shared_ptr<const Matcher> begin = entry.begin;
  keep(std::move(entry));
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
