#include "server/responses_names.h"

#include "base/ascii.h"

namespace hearth {
namespace {

// Whether the text begins with this field's name, and not with a longer name.
bool begins_with_field(std::string_view text, std::string_view field) {
  if (!text.starts_with(field)) return false;
  if (text.size() == field.size()) return true;
  const char next = text[field.size()];
  return !is_letter(next) && !is_digit(next) && next != '_';
}

}  // namespace

ResponsesNames::ResponsesNames()
    : names_{{"messages", "input"},
             {"max_tokens", "max_output_tokens"},
             {"reasoning_effort", "reasoning.effort"},
             {"response_format", "text.format"},
             {"response_format.json_schema", "text.format"},
             {"tool_choice.function", "tool_choice"},
             {"tool_choice.allowed_tools", "tool_choice"}} {}

void ResponsesNames::add(std::string chat, std::string name) {
  names_.emplace_back(std::move(chat), std::move(name));
}

std::string ResponsesNames::translated(std::string_view text) const {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& names : names_) {
    const bool longer = best == nullptr || names.first.size() > best->first.size();
    if (longer && begins_with_field(text, names.first)) best = &names;
  }
  if (best == nullptr) return std::string(text);
  return best->second + std::string(text.substr(best->first.size()));
}

ApiError ResponsesNames::translated(ApiError error) const {
  error.message = translated(std::string_view(error.message));
  if (error.param) error.param = translated(std::string_view(*error.param));
  return error;
}

}  // namespace hearth
