// The functions of templates: namespace, range, raise_exception, strftime_now.
#include <array>

#include "template/template_calls.h"
#include "template/template_print.h"

namespace hearth {
namespace {

constexpr int64_t kMaxRangeItems = 100'000;

TemplateValue make_namespace(TemplateHeap& heap, const Arguments& arguments) {
  auto& dict = heap.make<DictObject>();
  TemplateBudget& budget = heap.budget();
  if (arguments.positional.size() > 1) fault("namespace() takes at most one mapping");
  for (const TemplateValue& first : arguments.positional) {
    if (!first.is(ValueKind::kDict))
      fault("namespace() takes a mapping, not a {}", type_name(first));
    for (const auto& [key, value] : first.as<DictObject>().entries) {
      set_entry(budget, dict, key, value);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    set_entry(budget, dict, string_value(budget, name), value);
  }
  return object_value(ValueKind::kNamespace, dict);
}

// Returns the number of steps without overflow, whatever the bounds.
uint64_t count_of(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  auto low = static_cast<uint64_t>(step > 0 ? start : stop);
  auto high = static_cast<uint64_t>(step > 0 ? stop : start);
  uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return (high - low - 1) / by + 1;
}

TemplateValue make_range(TemplateHeap& heap, const Arguments& arguments) {
  BoundArguments bound = bind_arguments("range()", arguments, {"/a", "/b", "/c"}, 1);
  std::array<int64_t, 3> given = {0, 0, 1};
  for (size_t i = 0; i < given.size(); ++i) {
    if (bound[i]) given[i] = require_whole("range()'s argument", *bound[i]);
  }
  auto& range = heap.make<RangeObject>();
  range.start = bound[1] ? given[0] : 0;
  range.stop = bound[1] ? given[1] : given[0];
  range.step = given[2];
  if (range.step == 0) fault("range()'s step is zero");
  uint64_t count = count_of(range.start, range.stop, range.step);
  if (count > kMaxRangeItems) fault("range() gives at most {} numbers", kMaxRangeItems);
  range.count = static_cast<int64_t>(count);
  return object_value(ValueKind::kRange, range);
}

[[noreturn]] void raise_exception(TemplateHeap& heap, const Arguments& arguments) {
  BoundArguments bound = bind_arguments("raise_exception()", arguments, {"message"}, 1);
  constexpr size_t kMax = 500;
  std::string message(text_of(heap.budget(), *bound[0])->bytes());
  if (message.size() > kMax) {
    size_t end = kMax;
    while ((message[end] & 0xC0) == 0x80) --end;
    message.resize(end);
  }
  fault("it refuses this conversation: {}", message);
}

// Formats one directive at a time, so that no format can make the text long.
std::string format_time(std::string_view format, const std::tm& time) {
  constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYZz%";
  std::string text;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      text += format[at];
      continue;
    }
    std::string directive = "%";
    if (++at < format.size() && (format[at] == '-' || format[at] == '_' || format[at] == '^')) {
      directive += format[at++];
    }
    if (at >= format.size() || kKnown.find(format[at]) == std::string_view::npos) {
      fault("strftime_now() is given a format with an unknown '%' code");
    }
    directive += format[at];
    std::array<char, 256> buffer{};
    size_t length = std::strftime(buffer.data(), buffer.size(), directive.c_str(), &time);
    text.append(buffer.data(), length);
  }
  return text;
}

TemplateValue strftime_now(TemplateHeap& heap, const Arguments& arguments,
                           const TemplateClock& clock) {
  BoundArguments bound = bind_arguments("strftime_now()", arguments, {"format"}, 1);
  const TextRef& format = require_text("strftime_now()'s format", *bound[0]);
  heap.budget().mapped(format->bytes().size() * 16);
  if (format->bytes().size() > 1000) fault("strftime_now() is given a format that is too long");
  TextBuilder out(heap.budget());
  out.append(format_time(format->bytes(), clock()), format->any_untrusted());
  return string_value(out.finish());
}

}  // namespace

TemplateValue call_function(TemplateHeap& heap, std::string_view name, const Arguments& arguments,
                            const TemplateClock& clock) {
  if (name == "namespace") return make_namespace(heap, arguments);
  if (name == "range") return make_range(heap, arguments);
  if (name == "raise_exception") raise_exception(heap, arguments);
  return strftime_now(heap, arguments, clock);
}

}  // namespace hearth
