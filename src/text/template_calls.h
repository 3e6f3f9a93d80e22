// What templates can call: filters, tests, methods and functions, by name, with the arguments and
// the meaning that Jinja and Python give them. Errors are TemplateFaults.
#pragma once

#include <ctime>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "text/template_value.h"

namespace hearth {

// What strftime_now() reads.
using TemplateClock = std::function<std::tm()>;

Value apply_filter(TemplateHeap& heap, std::string_view name, const Value& subject,
                   const Arguments& arguments);
bool apply_test(TemplateHeap& heap, std::string_view name, const Value& subject,
                const Arguments& arguments);
Value call_method(TemplateHeap& heap, const FunctionObject& method, const Arguments& arguments);
Value call_function(TemplateHeap& heap, std::string_view name, const Arguments& arguments,
                    const TemplateClock& clock);

// A function that takes the arguments `names`, the first `required` of which must be there; a name
// that begins with '/' cannot be used by the caller. Returns them in that order.
using BoundArguments = std::vector<std::optional<Value>>;
BoundArguments bind_arguments(std::string_view what, const Arguments& arguments,
                              std::initializer_list<std::string_view> names, size_t required = 0);
// Throw where the value is of another kind.
const TextRef& require_text(std::string_view what, const Value& value);
int64_t require_whole(std::string_view what, const Value& value);

// json.dumps() with ensure_ascii, indent, separators, sort_keys.
Value to_json(TemplateHeap& heap, const Value& subject, const Arguments& arguments);

enum class CaseMapping : uint8_t { kUpper, kLower, kCapitalize };
Value map_case(TemplateBudget& budget, const TextRef& text, CaseMapping mapping);

// str.strip(), lstrip(), rstrip(): `characters` is null for white space.
Value strip_text(TemplateBudget& budget, const Text& text, const Text* characters, bool left,
                 bool right);
Value replace_text(TemplateBudget& budget, const Text& text, const Text& old, const Text& by,
                   int64_t most);
Value join_values(TemplateHeap& heap, const Text& between, const std::vector<Value>& values,
                  bool strings_only);
// The lines, without their ends.
std::vector<TextRef> split_lines(TemplateBudget& budget, const Text& text);

}  // namespace hearth
