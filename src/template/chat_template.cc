#include "template/chat_template.h"

#include <algorithm>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "template/template_eval.h"
#include "template/template_import.h"
#include "template/template_lexer.h"
#include "template/template_parser.h"

namespace hearth {

struct TemplateProgram {
  Body body;
};

namespace {

std::tm local_time() {
  std::time_t now = std::time(nullptr);
  std::tm time{};
  localtime_r(&now, &time);
  return time;
}

// Imports messages as untrusted, except for well-known roles.
TemplateValue import_messages(TemplateHeap& heap, const boost::json::value& json) {
  TemplateValue messages = import_json(heap, json, true);
  if (!messages.is(ValueKind::kList)) return messages;
  for (const TemplateValue& message : messages.as<ListObject>().items) {
    if (!message.is(ValueKind::kDict)) continue;
    for (auto& [key, value] : message.as<DictObject>().entries) {
      bool known = key.bytes() == "role" && value.is_string() &&
                   std::ranges::find(kKnownRoles, value.bytes()) != kKnownRoles.end();
      if (known) value = string_value(heap.budget(), value.bytes());
    }
  }
  return messages;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, Clock clock)
    : clock_(clock ? std::move(clock) : local_time) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  if (source.size() > kMaxBytes) {
    fail(ErrorCode::kUnsupported, "the chat template is longer than {} MiB", kMaxBytes >> 20);
  }
  try {
    auto program = std::make_shared<TemplateProgram>();
    program->body = parse_template(source);
    program_ = std::move(program);
  } catch (const TemplateSyntaxError& error) {
    fail(error.unsupported ? ErrorCode::kUnsupported : ErrorCode::kFile,
         "the chat template, line {}: {}", error.line, error.message);
  }
}

bool ChatTemplate::is_blank() const {
  return std::ranges::all_of(program_->body, [](const StatementPtr& statement) {
    if (statement->kind != StatementKind::kText) return false;
    std::string_view bytes = statement->text->bytes();
    return leading_space(bytes) == bytes.size();
  });
}

RenderedChat ChatTemplate::render(const boost::json::object& request,
                                  const boost::json::object& own, Pace* pace) const {
  TemplateBudget budget(pace);
  TemplateHeap heap(budget);
  TemplateEvaluator evaluator(heap, clock_);
  try {
    for (const auto& member : request) {
      bool messages = member.key() == "messages";
      evaluator.set(std::string(member.key()), messages ? import_messages(heap, member.value())
                                                        : import_json(heap, member.value(), true));
    }
    for (const auto& member : own) {
      evaluator.set(std::string(member.key()), import_json(heap, member.value(), false));
    }
    TextRef text = evaluator.render(program_->body);
    return {std::string(text->bytes()), text->untrusted()};
  } catch (const TemplateFault& reason) {
    ErrorCode code = reason.unsupported() ? ErrorCode::kUnsupported : ErrorCode::kRequest;
    if (evaluator.line() == 0) fail(code, "the chat template: {}", reason.what());
    fail(code, "the chat template, line {}: {}", evaluator.line(), reason.what());
  }
}

}  // namespace hearth
