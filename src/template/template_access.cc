// Attributes, items and slices of template values.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "template/template_ops.h"
#include "template/template_print.h"

namespace hearth {
namespace {

using Names = std::span<const std::string_view>;

// The attributes of Python's types: they hide keys of the same name, even if this program does not
// support them.
constexpr std::array<std::string_view, 47> kStringNames = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};
constexpr std::array<std::string_view, 3> kMarkupNames = {"escape", "striptags", "unescape"};
constexpr std::array<std::string_view, 6> kListNames = {"append", "clear", "copy",
                                                        "count",  "index", "pop"};
constexpr std::array<std::string_view, 2> kTupleNames = {"count", "index"};
constexpr std::array<std::string_view, 7> kDictNames = {"copy", "fromkeys", "get",   "items",
                                                        "keys", "pop",      "values"};
constexpr std::array<std::string_view, 8> kIntNames = {
    "as_integer_ratio", "bit_count",  "bit_length", "conjugate",
    "denominator",      "from_bytes", "imag",       "numerator"};
constexpr std::array<std::string_view, 2> kMoreIntNames = {"real", "to_bytes"};
constexpr std::array<std::string_view, 7> kFloatNames = {
    "as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "is_integer", "real"};
constexpr std::array<std::string_view, 5> kRangeNames = {"count", "index", "start", "step", "stop"};
constexpr std::array<std::string_view, 2> kViewNames = {"isdisjoint", "mapping"};
constexpr std::array<std::string_view, 3> kIteratorNames = {"close", "send", "throw"};

// Methods that the sandbox forbids, since they would change a value.
constexpr std::array<std::string_view, 5> kUnsafeListNames = {"extend", "insert", "remove",
                                                              "reverse", "sort"};
constexpr std::array<std::string_view, 4> kUnsafeDictNames = {"clear", "popitem", "setdefault",
                                                              "update"};

bool has(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool has_method(const TemplateValue& object, std::string_view name) {
  switch (object.kind) {
    case ValueKind::kString:
      return has(kStringNames, name) || (object.text->markup() && has(kMarkupNames, name));
    case ValueKind::kList:
      return has(kListNames, name);
    case ValueKind::kTuple:
      return has(kTupleNames, name);
    case ValueKind::kDict:
      return has(kDictNames, name);
    case ValueKind::kBool:
    case ValueKind::kInt:
      return has(kIntNames, name) || has(kMoreIntNames, name);
    case ValueKind::kFloat:
      return has(kFloatNames, name);
    case ValueKind::kRange:
      return has(kRangeNames, name);
    case ValueKind::kView:
      return has(kViewNames, name);
    case ValueKind::kIterator:
      return has(kIteratorNames, name);
    default:
      return false;
  }
}

bool is_unsafe(const TemplateValue& object, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__")) return true;
  return (object.is(ValueKind::kList) && has(kUnsafeListNames, name)) ||
         (object.is(ValueKind::kDict) && has(kUnsafeDictNames, name));
}

TemplateValue missing(TemplateBudget& budget, const TemplateValue& object,
                      const TemplateValue& key) {
  TextBuilder why(budget);
  why.append(fmt::format("a {} has no attribute or item ", type_name(object)), false);
  if (key.is_number() || (key.is_string() && key.bytes().size() <= 100)) {
    print_repr(why, budget, key);
  } else {
    why.append("that was asked for", false);
  }
  TemplateValue value = string_value(why.finish());
  value.kind = ValueKind::kUndefined;
  return value;
}

// Finds an item by index or key. Returns false where there is none.
bool find_item(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& key,
               TemplateValue* item) {
  if (object.is(ValueKind::kDict)) {
    if (!is_hashable(key)) return false;
    const TemplateValue* found = find_entry(heap.budget(), object.as<DictObject>(), key);
    if (found != nullptr) *item = *found;
    return found != nullptr;
  }
  size_t length = 0;
  bool indexed = object.is_string() || object.is(ValueKind::kList) ||
                 object.is(ValueKind::kTuple) || object.is(ValueKind::kRange);
  if (!indexed || !key.is_whole() || !length_of(heap.budget(), object, &length)) return false;
  auto count = static_cast<int64_t>(length);
  int64_t index = key.whole < 0 ? key.whole + count : key.whole;
  if (index < 0 || index >= count) return false;
  if (object.is_string()) {
    heap.budget().scanned(object.bytes().size());
    size_t at = offset_of_character(object.bytes(), static_cast<size_t>(index));
    TextBuilder builder(heap.budget());
    builder.append(*object.text, at, at + character_bytes(object.bytes()[at]));
    *item = string_value(builder.finish(object.text->markup()));
  } else if (object.is(ValueKind::kRange)) {
    *item = int_value(object.as<RangeObject>().at(index));
  } else {
    *item = object.as<ListObject>().items[static_cast<size_t>(index)];
  }
  return true;
}

void require_whole_bound(const TemplateValue& bound) {
  require_defined(bound);
  if (!bound.is_whole())
    fault("a slice's bound must be a whole number, not a {}", type_name(bound));
}

struct SliceBounds {
  int64_t start, stop, step, count;
};

int64_t clamp_bound(const TemplateValue& bound, int64_t if_none, int64_t low, int64_t high,
                    int64_t length) {
  if (bound.is(ValueKind::kNone)) return if_none;
  int64_t at = bound.whole < 0 ? bound.whole + length : bound.whole;
  return std::clamp(at, low, high);
}

SliceBounds slice_bounds(const TemplateValue& start, const TemplateValue& stop,
                         const TemplateValue& step, int64_t length) {
  int64_t by = step.is(ValueKind::kNone) ? 1 : step.whole;
  if (by == 0) fault("a slice's step is zero");
  by = std::clamp<int64_t>(by, -INT64_MAX, INT64_MAX);
  bool back = by < 0;
  int64_t low = back ? -1 : 0, high = back ? length - 1 : length;
  int64_t first = clamp_bound(start, back ? high : low, low, high, length);
  int64_t end = clamp_bound(stop, back ? low : high, low, high, length);
  int64_t count = 0;
  if (!back && first < end) count = (end - first - 1) / by + 1;
  if (back && end < first) count = (first - end - 1) / -by + 1;
  return {first, end, by, count};
}

TemplateValue slice_text(TemplateBudget& budget, const Text& text, const SliceBounds& bounds) {
  TextBuilder builder(budget);
  std::string_view bytes = text.bytes();
  if (bounds.count > 0 && bounds.step == 1) {
    size_t begin = offset_of_character(bytes, static_cast<size_t>(bounds.start));
    size_t length = offset_of_character(bytes.substr(begin), static_cast<size_t>(bounds.count));
    builder.append(text, begin, begin + length);
  } else if (bounds.count > 0) {
    budget.mapped(bytes.size());
    std::vector<size_t> offsets;
    for (size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) offsets.push_back(at);
    for (int64_t i = 0; i < bounds.count; ++i) {
      size_t at = offsets[static_cast<size_t>(bounds.start + i * bounds.step)];
      builder.append(text, at, at + character_bytes(bytes[at]));
    }
  }
  return string_value(builder.finish(text.markup()));
}

TemplateValue slice_range(TemplateHeap& heap, const RangeObject& range, const SliceBounds& bounds) {
  auto& slice = heap.make<RangeObject>();
  // Bounds that lie outside of the range may exceed 64 bits. No item lies there, so they may wrap
  // around, as unsigned arithmetic does.
  auto times = [](int64_t a, int64_t b) {
    return static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
  };
  auto sum = [](int64_t a, uint64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
  };
  slice.start = sum(range.start, times(bounds.start, range.step));
  slice.step = static_cast<int64_t>(times(range.step, bounds.step));
  slice.count = bounds.count;
  slice.stop = sum(range.start, times(bounds.stop, range.step));
  return object_value(ValueKind::kRange, slice);
}

}  // namespace

bool find_method(TemplateHeap& heap, const TemplateValue& object, std::string_view name,
                 TemplateValue* method) {
  if (is_unsafe(object, name)) {
    *method = undefined_value(
        heap.budget(), fmt::format("the attribute '{}' of a {} is not safe to use in a template",
                                   name.substr(0, 100), type_name(object)));
    return true;
  }
  if (!has_method(object, name)) return false;
  auto& function = heap.make<FunctionObject>();
  function.name = std::string(name);
  function.self = object;
  *method = object_value(ValueKind::kMethod, function);
  return true;
}

TemplateValue get_attribute(TemplateHeap& heap, const TemplateValue& object,
                            std::string_view name) {
  TemplateValue found;
  bool unsafe = object.is_undefined() && is_unsafe(object, name);
  if (!unsafe) require_defined(object);
  if (find_method(heap, object, name, &found)) return found;
  TemplateValue key = string_value(heap.budget(), name);
  if (object.is(ValueKind::kNamespace)) {
    const TemplateValue* held = find_entry(heap.budget(), object.as<DictObject>(), key);
    return held != nullptr ? *held : missing(heap.budget(), object, key);
  }
  if (find_item(heap, object, key, &found)) return found;
  return missing(heap.budget(), object, key);
}

TemplateValue get_item(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& key) {
  require_defined(object);
  if (object.is(ValueKind::kNamespace) && key.is_string()) {
    return get_attribute(heap, object, key.bytes());
  }
  TemplateValue found;
  if (find_item(heap, object, key, &found)) return found;
  if (key.is_string() && find_method(heap, object, key.bytes(), &found)) return found;
  return missing(heap.budget(), object, key);
}

TemplateValue get_slice(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& start,
                        const TemplateValue& stop, const TemplateValue& step) {
  require_defined(object);
  for (const TemplateValue* bound : {&start, &stop, &step}) {
    if (!bound->is(ValueKind::kNone)) require_whole_bound(*bound);
  }
  bool sliced = object.is_string() || object.is(ValueKind::kList) || object.is(ValueKind::kTuple) ||
                object.is(ValueKind::kRange);
  size_t length = 0;
  if (!sliced || !length_of(heap.budget(), object, &length)) {
    fault("a {} cannot be sliced", type_name(object));
  }
  SliceBounds bounds = slice_bounds(start, stop, step, static_cast<int64_t>(length));
  if (object.is_string()) return slice_text(heap.budget(), *object.text, bounds);
  if (object.is(ValueKind::kRange)) {
    return slice_range(heap, object.as<RangeObject>(), bounds);
  }
  const auto& items = object.as<ListObject>().items;
  heap.budget().add_elements(static_cast<uint64_t>(bounds.count));
  std::vector<TemplateValue> slice;
  for (int64_t i = 0; i < bounds.count; ++i) {
    slice.push_back(items[static_cast<size_t>(bounds.start + i * bounds.step)]);
  }
  return make_list(heap, std::move(slice), object.kind);
}

}  // namespace hearth
