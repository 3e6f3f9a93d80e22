#include "text/chat_template.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "text/template_eval.h"
#include "text/template_lexer.h"
#include "text/template_parser.h"

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

// Values of JSON as a template sees them.
class Importer {
 public:
  Importer(TemplateHeap& heap, bool foreign) : heap_(heap), foreign_(foreign) {}

  TemplateValue import(const boost::json::value& json, uint32_t depth = 0) {
    check_value_depth(depth);
    heap_.budget().add_elements(1);
    switch (json.kind()) {
      case boost::json::kind::null: {
        TemplateValue value = none_value();
        value.foreign = foreign_;
        return value;
      }
      case boost::json::kind::bool_:
        return bool_value(json.get_bool(), foreign_);
      case boost::json::kind::int64:
        return int_value(json.get_int64(), foreign_);
      case boost::json::kind::uint64:
        return import_unsigned(json.get_uint64());
      case boost::json::kind::double_:
        return float_value(json.get_double(), foreign_);
      case boost::json::kind::string:
        return import_string(json.get_string());
      case boost::json::kind::array: {
        std::vector<TemplateValue> items;
        for (const auto& item : json.get_array()) items.push_back(import(item, depth + 1));
        return make_list(heap_, std::move(items));
      }
      default:
        return import_object(json.get_object(), depth);
    }
  }

  // Messages, where a role that everyone knows is nobody's words.
  TemplateValue import_messages(const boost::json::value& json) {
    TemplateValue messages = import(json);
    if (!messages.is(ValueKind::kList)) return messages;
    for (const TemplateValue& message : messages.as<ListObject>().items) {
      if (!message.is(ValueKind::kDict)) continue;
      for (auto& [key, value] : message.as<DictObject>().entries) {
        bool known = key.bytes() == "role" && value.is_string() &&
                     std::ranges::find(kKnownRoles, value.bytes()) != kKnownRoles.end();
        if (known) value = string_value(heap_.budget(), value.bytes());
      }
    }
    return messages;
  }

 private:
  // Beyond 63 bits Python would go on exactly.
  TemplateValue import_unsigned(uint64_t number) const {
    if (number <= INT64_MAX) return int_value(static_cast<int64_t>(number), foreign_);
    return float_value(static_cast<double>(number), foreign_);
  }

  TemplateValue import_string(std::string_view bytes) {
    if (!is_well_formed(bytes)) fault("a string that it is given is not UTF-8");
    TextBuilder builder(heap_.budget());
    builder.append(bytes, foreign_);
    return string_value(builder.finish());
  }

  TemplateValue import_object(const boost::json::object& object, uint32_t depth) {
    auto& dict = heap_.make<DictObject>();
    for (const auto& member : object) {
      heap_.budget().add_elements(2);
      TemplateValue key = import_string(member.key());
      dict.entries.emplace_back(std::move(key), import(member.value(), depth + 1));
    }
    return object_value(ValueKind::kDict, dict);
  }

  TemplateHeap& heap_;
  bool foreign_;
};

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, Clock clock)
    : clock_(clock ? std::move(clock) : local_time) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (source.size() > kMostBytes) {
    fail(ErrorCode::kUnsupported, "the chat template is longer than {} MiB", kMostBytes >> 20);
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
                                  const boost::json::object& own) const {
  TemplateBudget budget;
  TemplateHeap heap(budget);
  TemplateEvaluator evaluator(heap, clock_);
  try {
    Importer stranger(heap, true), program(heap, false);
    for (const auto& member : request) {
      bool messages = member.key() == "messages";
      evaluator.set(std::string(member.key()), messages ? stranger.import_messages(member.value())
                                                        : stranger.import(member.value()));
    }
    for (const auto& member : own) {
      evaluator.set(std::string(member.key()), program.import(member.value()));
    }
    TextRef text = evaluator.render(program_->body);
    return {std::string(text->bytes()), text->foreign()};
  } catch (const TemplateFault& reason) {
    if (evaluator.line() == 0) fail(ErrorCode::kRequest, "the chat template: {}", reason.what());
    fail(ErrorCode::kRequest, "the chat template, line {}: {}", evaluator.line(), reason.what());
  }
}

}  // namespace hearth
