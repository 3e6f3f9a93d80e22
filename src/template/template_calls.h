// The filters, tests, methods and functions that templates can call by name, with Jinja's and
// Python's arguments and semantics. Errors are TemplateFaults.
#pragma once

#include <ctime>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "template/template_value.h"

namespace hearth {

// Returns the time that strftime_now() writes.
using TemplateClock = std::function<std::tm()>;

TemplateValue apply_filter(TemplateHeap& heap, std::string_view name, const TemplateValue& subject,
                           const Arguments& arguments);
bool apply_test(TemplateHeap& heap, std::string_view name, const TemplateValue& subject,
                const Arguments& arguments);
TemplateValue call_method(TemplateHeap& heap, const FunctionObject& method,
                          const Arguments& arguments);
TemplateValue call_function(TemplateHeap& heap, std::string_view name, const Arguments& arguments,
                            const TemplateClock& clock);

// Binds arguments to the parameters `names`, the first `required` of which must be given, and
// returns their values in that order. A name that begins with '/' is positional only.
using BoundArguments = std::vector<std::optional<TemplateValue>>;
BoundArguments bind_arguments(std::string_view what, const Arguments& arguments,
                              std::initializer_list<std::string_view> names, size_t required = 0);
// Return the value's text or whole number. Throw where it is of another kind.
const TextRef& require_text(std::string_view what, const TemplateValue& value);
int64_t require_whole(std::string_view what, const TemplateValue& value);

// json.dumps() with ensure_ascii, indent, separators, sort_keys.
TemplateValue to_json(TemplateHeap& heap, const TemplateValue& subject, const Arguments& arguments);

// json.loads(). If any byte of the text is untrusted, so is every value read.
TemplateValue from_json(TemplateHeap& heap, const TemplateValue& subject,
                        const Arguments& arguments);

enum class CaseMapping : uint8_t { kUpper, kLower, kCapitalize };
TemplateValue map_case(TemplateBudget& budget, const TextRef& text, CaseMapping mapping);

// str.strip(), lstrip(), rstrip(): `characters` is null for white space.
TemplateValue strip_text(TemplateBudget& budget, const Text& text, const Text* characters,
                         bool left, bool right);
TemplateValue replace_text(TemplateBudget& budget, const Text& text, const Text& old,
                           const Text& by, int64_t most);
TemplateValue join_values(TemplateHeap& heap, const Text& between,
                          const std::vector<TemplateValue>& values, bool strings_only);
// Returns the lines, without their ends.
std::vector<TextRef> split_lines(TemplateBudget& budget, const Text& text);

}  // namespace hearth
