// The filters of lists and mappings. A filter that is a generator in Python computes a value, or
// throws an error, only when that value is asked for.
#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "template/template_calls.h"
#include "template/template_filter_table.h"
#include "template/template_ops.h"
#include "template/template_print.h"

namespace hearth {
namespace {

bool is_digits(std::string_view part) {
  return !part.empty() && part.size() < 18 && std::ranges::all_of(part, is_digit);
}

// Returns the parts of "a.b.0"; another kind of value is one part.
std::vector<TemplateValue> attribute_parts(TemplateBudget& budget, const TemplateValue& attribute) {
  std::vector<TemplateValue> parts;
  if (attribute.is(ValueKind::kNone)) return parts;
  if (!attribute.is_string()) return {attribute};
  std::string_view rest = attribute.bytes();
  budget.mapped(rest.size());
  while (true) {
    size_t dot = rest.find('.');
    std::string_view part = rest.substr(0, dot);
    parts.push_back(is_digits(part) ? int_value(std::stoll(std::string(part)))
                                    : string_value(budget, part));
    if (dot == std::string_view::npos) return parts;
    rest.remove_prefix(dot + 1);
  }
}

TemplateValue walk(TemplateHeap& heap, TemplateValue item, const std::vector<TemplateValue>& parts,
                   const std::optional<TemplateValue>& otherwise = std::nullopt) {
  for (const TemplateValue& part : parts) {
    heap.budget().step();
    item = get_item(heap, item, part);
    if (otherwise && item.is_undefined()) item = *otherwise;
  }
  return item;
}

TemplateValue fold_case(TemplateHeap& heap, const TemplateValue& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return map_case(heap.budget(), value.text, CaseMapping::kLower);
}

bool is_set(const std::optional<TemplateValue>& value) { return value && is_truthy(*value); }

void sort_pairs(TemplateHeap& heap, std::vector<std::pair<TemplateValue, TemplateValue>>& pairs,
                bool reverse) {
  std::ranges::stable_sort(pairs, [&](const auto& a, const auto& b) {
    heap.budget().step();
    return reverse ? ordered(heap.budget(), OrderOp::kLess, b.first, a.first)
                   : ordered(heap.budget(), OrderOp::kLess, a.first, b.first);
  });
}

TemplateValue second_of(TemplateHeap& heap,
                        const std::vector<std::pair<TemplateValue, TemplateValue>>& pairs) {
  std::vector<TemplateValue> items;
  for (const auto& [key, value] : pairs) items.push_back(value);
  return make_list(heap, std::move(items));
}

TemplateValue filter_sort(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  BoundArguments bound =
      bind_arguments("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<std::vector<TemplateValue>> attributes;
  TemplateValue attribute = bound[2].value_or(none_value());
  std::string_view rest = attribute.is_string() ? attribute.bytes() : "";
  for (size_t comma = 0; attribute.is_string() && comma != std::string_view::npos;) {
    comma = rest.find(',');
    attributes.push_back(
        attribute_parts(heap.budget(), string_value(heap.budget(), rest.substr(0, comma))));
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  if (!attribute.is_string()) attributes.push_back(attribute_parts(heap.budget(), attribute));
  std::vector<std::pair<TemplateValue, TemplateValue>> pairs;
  for (TemplateValue& item : values_of(heap, subject)) {
    std::vector<TemplateValue> keys;
    for (const auto& parts : attributes) {
      keys.push_back(fold_case(heap, walk(heap, item, parts), is_set(bound[1])));
    }
    pairs.emplace_back(make_list(heap, std::move(keys)), std::move(item));
  }
  sort_pairs(heap, pairs, is_set(bound[0]));
  return second_of(heap, pairs);
}

TemplateValue filter_dictsort(TemplateHeap& heap, const TemplateValue& subject,
                              const Arguments& arguments) {
  BoundArguments bound = bind_arguments("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  bool by_key = !bound[1] || (bound[1]->is_string() && bound[1]->bytes() == "key");
  if (!by_key && !(bound[1]->is_string() && bound[1]->bytes() == "value")) {
    fault("dictsort sorts by 'key' or by 'value'");
  }
  require_defined(subject);
  if (!subject.is(ValueKind::kDict)) fault("dictsort cannot sort a {}", type_name(subject));
  std::vector<std::pair<TemplateValue, TemplateValue>> pairs;
  for (const auto& [key, value] : subject.as<DictObject>().entries) {
    TemplateValue item = make_list(heap, {key, value}, ValueKind::kTuple);
    pairs.emplace_back(fold_case(heap, by_key ? key : value, is_set(bound[0])), std::move(item));
  }
  sort_pairs(heap, pairs, is_set(bound[2]));
  return second_of(heap, pairs);
}

struct UniqueIterator : IteratorObject {
  TemplateHeap* heap = nullptr;
  TemplateValue subject;
  std::vector<TemplateValue> parts;
  bool case_sensitive = false;
  IteratorObject* source = nullptr;
  std::vector<TemplateValue> seen;

  bool next(TemplateValue& value) override {
    if (source == nullptr) source = &iterate(*heap, subject);
    while (source->next(value)) {
      TemplateValue key = fold_case(*heap, walk(*heap, value, parts), case_sensitive);
      if (!is_hashable(key)) fault("unique cannot compare a {}", type_name(key));
      heap->budget().step();
      heap->budget().scanned(seen.size() * 16);
      auto same = [&](const TemplateValue& other) {
        return equal_values(heap->budget(), other, key);
      };
      if (std::ranges::any_of(seen, same)) continue;
      heap->budget().add_elements(1);
      seen.push_back(std::move(key));
      return true;
    }
    return false;
  }
};

TemplateValue filter_unique(TemplateHeap& heap, const TemplateValue& subject,
                            const Arguments& arguments) {
  BoundArguments bound = bind_arguments("unique", arguments, {"case_sensitive", "attribute"});
  auto& iterator = heap.make<UniqueIterator>();
  iterator.heap = &heap;
  iterator.subject = subject;
  iterator.parts = attribute_parts(heap.budget(), bound[1].value_or(none_value()));
  iterator.case_sensitive = is_set(bound[0]);
  return object_value(ValueKind::kIterator, iterator);
}

// The iterator that select, reject, selectattr, rejectattr and map return.
struct PickIterator : IteratorObject {
  enum class Kind : uint8_t { kSelect, kReject, kSelectAttribute, kRejectAttribute, kMap };
  TemplateHeap* heap = nullptr;
  Kind kind = Kind::kSelect;
  TemplateValue subject;
  Arguments arguments;
  IteratorObject* source = nullptr;
  std::vector<TemplateValue> parts;        // of the path of the attribute to read
  std::optional<TemplateValue> otherwise;  // map: the value where an item has no such attribute
  std::optional<std::string> name;  // of the test or the filter; none: whether the item is truthy

  bool next(TemplateValue& value) override {
    if (!is_truthy(subject)) return false;
    if (source == nullptr) start();
    while (source->next(value)) {
      heap->budget().step();
      if (kind == Kind::kMap) {
        value = name ? apply_filter(*heap, *name, value, arguments)
                     : walk(*heap, value, parts, otherwise);
        return true;
      }
      bool wanted = kind == Kind::kSelect || kind == Kind::kSelectAttribute;
      if (picks(walk(*heap, value, parts)) == wanted) return true;
    }
    return false;
  }

 private:
  bool picks(const TemplateValue& value) const {
    return name ? apply_test(*heap, *name, value, arguments) : is_truthy(value);
  }

  TemplateValue take_argument(const char* what) {
    if (arguments.positional.empty()) fault("{}", what);
    TemplateValue first = arguments.positional.front();
    arguments.positional.erase(arguments.positional.begin());
    return first;
  }

  std::optional<TemplateValue> take_named(std::string_view wanted) {
    auto found = std::ranges::find(arguments.named, wanted, [](const auto& argument) {
      return std::string_view(argument.first);
    });
    if (found == arguments.named.end()) return std::nullopt;
    TemplateValue value = found->second;
    arguments.named.erase(found);
    return value;
  }

  void start() {
    if (kind == Kind::kSelectAttribute || kind == Kind::kRejectAttribute) {
      parts = attribute_parts(heap->budget(), take_argument("the name of an attribute is missing"));
    }
    std::optional<TemplateValue> attribute;
    if (kind == Kind::kMap && arguments.positional.empty()) attribute = take_named("attribute");
    if (attribute) {
      parts = attribute_parts(heap->budget(), *attribute);
      otherwise = take_named("default");
      if (otherwise && otherwise->is(ValueKind::kNone)) otherwise.reset();
      if (!arguments.named.empty()) fault("map takes no argument '{}'", arguments.named[0].first);
    } else if (kind == Kind::kMap || !arguments.positional.empty()) {
      TemplateValue wanted = take_argument("map needs the name of a filter");
      name = std::string(require_text("the name of a filter or a test", wanted)->bytes());
    }
    source = &iterate(*heap, subject);
  }
};

template <PickIterator::Kind kKind>
TemplateValue filter_pick(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  auto& iterator = heap.make<PickIterator>();
  iterator.heap = &heap;
  iterator.kind = kKind;
  iterator.subject = subject;
  iterator.arguments = arguments;
  return object_value(ValueKind::kIterator, iterator);
}

struct ItemsIterator : IteratorObject {
  TemplateHeap* heap = nullptr;
  TemplateValue subject;
  IteratorObject* source = nullptr;

  bool next(TemplateValue& value) override {
    if (subject.is_undefined()) return false;
    if (!subject.is(ValueKind::kDict)) fault("items takes a mapping, not a {}", type_name(subject));
    if (source == nullptr) {
      auto& view = heap->make<ViewObject>();
      view.dict = &subject.as<DictObject>();
      view.view = ViewKind::kItems;
      source = &iterate(*heap, object_value(ValueKind::kView, view));
    }
    return source->next(value);
  }
};

TemplateValue filter_items(TemplateHeap& heap, const TemplateValue& subject,
                           const Arguments& arguments) {
  bind_arguments("items", arguments, {});
  auto& iterator = heap.make<ItemsIterator>();
  iterator.heap = &heap;
  iterator.subject = subject;
  return object_value(ValueKind::kIterator, iterator);
}

TemplateValue filter_join(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  BoundArguments bound = bind_arguments("join", arguments, {"d", "attribute"});
  std::vector<TemplateValue> values = values_of(heap, subject);
  if (bound[1] && !bound[1]->is(ValueKind::kNone)) {
    std::vector<TemplateValue> parts = attribute_parts(heap.budget(), *bound[1]);
    for (TemplateValue& value : values) value = walk(heap, value, parts);
  }
  TextRef between =
      bound[0] ? text_of(heap.budget(), *bound[0]) : string_value(heap.budget(), "").text;
  return join_values(heap, *between, values, false);
}

TemplateValue filter_list(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  bind_arguments("list", arguments, {});
  return make_list(heap, values_of(heap, subject));
}

TemplateValue filter_first(TemplateHeap& heap, const TemplateValue& subject,
                           const Arguments& arguments) {
  bind_arguments("first", arguments, {});
  TemplateValue value;
  if (iterate(heap, subject).next(value)) return value;
  return undefined_value(heap.budget(), "there is no first item, the sequence is empty");
}

TemplateValue filter_last(TemplateHeap& heap, const TemplateValue& subject,
                          const Arguments& arguments) {
  bind_arguments("last", arguments, {});
  if (subject.is_string() || subject.is(ValueKind::kRange)) {
    TemplateValue last = get_item(heap, subject, int_value(-1));
    if (!last.is_undefined()) return last;
  } else if (subject.is(ValueKind::kIterator) || !is_iterable(subject)) {
    fault("a {} has no last item", type_name(subject));
  } else if (!subject.is_undefined()) {
    std::vector<TemplateValue> values = values_of(heap, subject);
    if (!values.empty()) return values.back();
  }
  return undefined_value(heap.budget(), "there is no last item, the sequence is empty");
}

using Pick = PickIterator::Kind;
constexpr std::array kListFilters = {FilterEntry{"select", filter_pick<Pick::kSelect>},
                                     FilterEntry{"reject", filter_pick<Pick::kReject>},
                                     FilterEntry{"selectattr", filter_pick<Pick::kSelectAttribute>},
                                     FilterEntry{"rejectattr", filter_pick<Pick::kRejectAttribute>},
                                     FilterEntry{"map", filter_pick<Pick::kMap>},
                                     FilterEntry{"items", filter_items},
                                     FilterEntry{"join", filter_join},
                                     FilterEntry{"list", filter_list},
                                     FilterEntry{"dictsort", filter_dictsort},
                                     FilterEntry{"sort", filter_sort},
                                     FilterEntry{"unique", filter_unique},
                                     FilterEntry{"first", filter_first},
                                     FilterEntry{"last", filter_last}};

}  // namespace

std::span<const FilterEntry> list_filters() { return kListFilters; }

}  // namespace hearth
