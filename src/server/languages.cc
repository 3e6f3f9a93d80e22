#include "server/languages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "grammar/schema_budget.h"
#include "server/request_error.h"

namespace hearth {
namespace {

void add(std::string* key, std::string_view text) {
  *key += fmt::format("{} {}", text.size(), text);
}

// Returns the key under which a shape's grammar is kept. Names that errors use are not part of it.
std::string key_of(const OutputShape& shape) {
  std::string key = fmt::format("{} {} ", static_cast<int>(shape.kind), shape.choices.size());
  for (const std::string& choice : shape.choices) add(&key, choice);
  return key + shape.text;
}

// Returns the key of the grammar of a turn. The key does not name the turn format, as all turns
// here have the same one. It differs from every shape's key. It includes a tool's place in the body
// (`where`), as `relaxed` names that place to clients.
std::string key_of(const TurnOrder& order) {
  std::string key = fmt::format("turn {} {} {} {} ", static_cast<int>(order.choice), order.parallel,
                                order.prompt_goes_on, order.tools.size());
  for (const Tool& tool : order.tools) {
    key += tool.strict ? 's' : ' ';
    for (const std::string* text : {&tool.name, &tool.parameters, &tool.where}) add(&key, *text);
  }
  add(&key, order.prompt_tail);
  return key + key_of(order.answer);
}

RequestError refusal(std::string_view param, std::string_view code, const Error& error) {
  return RequestError(ApiError{
      400, "invalid_request_error", std::string(code), error.what(), std::string(param), {}});
}

std::string_view code_of(const OutputShape& shape) {
  return shape.kind == OutputKind::kJsonSchema ? std::string_view("invalid_schema") : kInvalidValue;
}

std::shared_ptr<const Matcher> compile(const OutputShape& shape,
                                       std::shared_ptr<const VocabularyTrie> vocabulary) {
  try {
    return compile_shape(shape, std::move(vocabulary));
  } catch (const SchemaTooComplex& error) {
    throw refusal(shape.name, "schema_too_complex", error);
  } catch (const Error& error) {
    throw refusal(shape.name, code_of(shape), error);
  }
}

// The field that is at fault if a turn cannot be compiled: a tool's schema or the answer's shape.
// The first words of the error's message tell which.
struct Fault {
  std::string_view param, code;
};
Fault find_fault(const TurnOrder& order, std::string_view message) {
  for (const Tool& tool : order.tools) {
    if (message.starts_with(tool.where)) return {tool.where, "invalid_schema"};
  }
  const bool answer = order.tools.empty() || message.starts_with(order.answer.name);
  if (answer && order.answer.kind != OutputKind::kFree) {
    return {order.answer.name, code_of(order.answer)};
  }
  return {order.tools.empty() ? "messages" : "tools", kInvalidValue};
}

std::shared_ptr<const TurnLanguage> compile(const TurnFormat& format, const TurnOrder& order,
                                            std::vector<MarkerToken> markers,
                                            std::shared_ptr<const VocabularyTrie> vocabulary) {
  try {
    return std::make_shared<const TurnLanguage>(
        compile_turn(format, order, std::move(markers), std::move(vocabulary)));
  } catch (const SchemaTooComplex& error) {
    throw refusal(find_fault(order, error.what()).param, "schema_too_complex", error);
  } catch (const Error& error) {
    const Fault fault = find_fault(order, error.what());
    throw refusal(fault.param, fault.code, error);
  }
}

}  // namespace

size_t Languages::Entry::bytes() const {
  const Matcher* matcher = turn != nullptr ? turn->begin.get() : begin.get();
  size_t bytes = key.size();
  if (matcher != nullptr) bytes += matcher->grammar().memory() + matcher->memory();
  if (turn == nullptr) return bytes;
  for (const std::string& text : turn->relaxed) bytes += text.size();
  for (const MarkerToken& marker : turn->markers) bytes += sizeof(marker) + marker.text.size();
  return bytes;
}

std::shared_ptr<const Matcher> Languages::find(const OutputShape& shape,
                                               const Tokenizer& tokenizer) {
  const std::string key = key_of(shape);
  if (Entry entry = kept(key); entry.begin) return entry.begin;
  // No lock is held while this compiles, so two requests may compile the same grammar.
  std::shared_ptr<const Matcher> begin = compile(shape, vocabulary(tokenizer));
  keep({key, begin, nullptr});
  return begin;
}

std::shared_ptr<const TurnLanguage> Languages::find_turn(const TurnFormat& format,
                                                         const TurnOrder& order,
                                                         const Tokenizer& tokenizer) {
  const std::string key = key_of(order);
  if (Entry entry = kept(key); entry.turn) return entry.turn;
  std::shared_ptr<const TurnLanguage> turn =
      compile(format, order, markers(tokenizer), vocabulary(tokenizer));
  keep({key, nullptr, turn});
  return turn;
}

std::shared_ptr<const VocabularyTrie> Languages::vocabulary(const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  if (vocabulary_ == nullptr) vocabulary_ = VocabularyTrie::of(tokenizer);
  return vocabulary_;
}

std::vector<MarkerToken> Languages::markers(const Tokenizer& tokenizer) {
  const std::lock_guard lock(mutex_);
  if (!markers_found_) markers_ = marker_tokens(tokenizer);
  markers_found_ = true;
  return markers_;
}

Languages::Entry Languages::kept(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return {};
  entries_.splice(entries_.begin(), entries_, found);
  return *found;
}

// Grammars grow while they are used, so all kept ones are measured again.
void Languages::keep(Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.push_front(std::move(entry));
  size_t bytes = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    bytes += at->bytes();
    at = bytes > kMaxBytes ? entries_.erase(at) : std::next(at);
  }
}

}  // namespace hearth
