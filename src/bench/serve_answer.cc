#include "bench/serve_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/json_reader.h"

namespace hearth {
namespace {

constexpr size_t kMaxBodyBytes = 1 << 20;
constexpr size_t kMaxQuotedBytes = 200;

std::string one_line(std::string_view text) {
  std::string out(text.substr(0, kMaxQuotedBytes));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return out;
}

// Returns a member of a JSON object; null where there is none, or the value is no object.
const boost::json::value* member(const boost::json::value* value, std::string_view name) {
  const boost::json::object* object = value ? value->if_object() : nullptr;
  return object ? object->if_contains(name) : nullptr;
}

std::string_view text_of(const boost::json::value* value) {
  const boost::json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string_view(*text) : std::string_view{};
}

std::optional<uint32_t> count_of(const boost::json::value* value) {
  if (!value || !value->is_number()) return {};
  boost::json::error_code error;
  auto count = value->to_number<uint32_t>(error);
  return error ? std::nullopt : std::optional(count);
}

// Whether an event's first choice has text, in the form of completions or of chat.
bool has_text(const boost::json::value& event) {
  const boost::json::value* choices = member(&event, "choices");
  const boost::json::array* list = choices ? choices->if_array() : nullptr;
  if (!list || list->empty()) return false;
  const boost::json::value* choice = list->data();
  const boost::json::value* delta = member(choice, "delta");
  return !text_of(member(choice, "text")).empty() || !text_of(member(delta, "content")).empty() ||
         !text_of(member(delta, "reasoning_content")).empty();
}

std::string message_of(const boost::json::value& error) {
  std::string_view message = text_of(member(&error, "message"));
  return one_line(message.empty() ? text_of(&error) : message);
}

}  // namespace

std::string error_message(std::string_view body) {
  try {
    boost::json::value value = read_json(body);
    if (const boost::json::value* error = member(&value, "error")) {
      std::string message = message_of(*error);
      if (!message.empty()) return message;
    }
  } catch (const Error&) {
    // If the body is not JSON with a message, the beginning of the body is shown.
  }
  return one_line(body);
}

AnswerReader::AnswerReader(const RequestShape& asked, double due) {
  request_.asked = asked;
  request_.due = due;
}

void AnswerReader::take(const ReplyEvent& event) {
  if (ended_) return;
  if (event.kind == ReplyEvent::Kind::kFailed) return fail(event.failure, event.text, event.when);
  if (event.status != 200 || !event.is_stream) {
    if (body_.size() < kMaxBodyBytes) body_ += event.text;
  } else {
    std::vector<std::string> events;
    events_.take(event.text, &events);
    for (const std::string& data : events) {
      take_data(data, event.when);
      if (ended_) return;
    }
  }
  if (event.kind == ReplyEvent::Kind::kEnd) end(event);
}

void AnswerReader::fail(std::string kind, std::string_view said, double when) {
  request_.failure = std::move(kind);
  request_.said = one_line(said);
  request_.end = when;
  ended_ = true;
}

void AnswerReader::take_data(const std::string& data, double when) {
  if (done_) return;
  if (data == "[DONE]") {
    done_ = true;
    request_.end = when;
    return;
  }
  boost::json::value event;
  try {
    event = read_json(data);
  } catch (const Error& error) {
    return fail("malformed", error.what(), when);
  }
  if (const boost::json::value* error = member(&event, "error"); error && !error->is_null()) {
    return fail("error in stream", message_of(*error), when);
  }
  if (has_text(event)) take_text(when);
  const boost::json::value* usage = member(&event, "usage");
  auto prompt = count_of(member(usage, "prompt_tokens"));
  auto output = count_of(member(usage, "completion_tokens"));
  if (!prompt || !output) return;
  request_.prompt_tokens = *prompt;
  request_.output_tokens = *output;
  request_.counted_by_server = true;
}

void AnswerReader::take_text(double when) {
  if (texts_ == 0) {
    request_.first = when;
  } else {
    request_.longest_gap = std::max(request_.longest_gap, when - last_text_);
  }
  last_text_ = when;
  ++texts_;
}

void AnswerReader::end(const ReplyEvent& event) {
  if (event.status != 200) {
    return fail(fmt::format("HTTP {}", event.status), error_message(body_), event.when);
  }
  if (!event.is_stream) return fail("no stream", error_message(body_), event.when);
  if (!done_) return fail("cut short", "the stream ended without [DONE]", event.when);
  if (!request_.counted_by_server) {
    request_.prompt_tokens = request_.asked.prompt;
    request_.output_tokens = texts_;
  }
  if (request_.output_tokens == 0) return fail("no tokens", "", event.when);
  // All tokens came without text (held back, or control tokens), so the end counts as the first
  // text.
  if (texts_ == 0) request_.first = request_.end;
  ended_ = true;
}

}  // namespace hearth
