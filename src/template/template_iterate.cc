// Iteration over template values.
#include <algorithm>

#include "template/template_value.h"

namespace hearth {
namespace {

struct ListIterator : IteratorObject {
  const ListObject* list = nullptr;
  size_t index = 0;
  bool next(TemplateValue& value) override {
    if (index >= list->items.size()) return false;
    value = list->items[index++];
    return true;
  }
};

struct CharacterIterator : IteratorObject {
  TemplateBudget* budget = nullptr;
  TextRef text;
  size_t at = 0;
  bool next(TemplateValue& value) override {
    if (at >= text->bytes().size()) return false;
    value = character_at(*budget, *text, &at);
    return true;
  }
};

struct RangeIterator : IteratorObject {
  const RangeObject* range = nullptr;
  int64_t index = 0;
  bool next(TemplateValue& value) override {
    if (index >= range->count) return false;
    value = int_value(range->at(index++));
    return true;
  }
};

struct EntryIterator : IteratorObject {
  TemplateHeap* heap = nullptr;
  const DictObject* dict = nullptr;
  ViewKind view = ViewKind::kKeys;
  size_t index = 0;
  bool next(TemplateValue& value) override {
    if (index >= dict->entries.size()) return false;
    const auto& [key, held] = dict->entries[index++];
    if (view == ViewKind::kItems) {
      value = make_list(*heap, {key, held}, ValueKind::kTuple);
    } else {
      value = view == ViewKind::kKeys ? key : held;
    }
    return true;
  }
};

struct NothingIterator : IteratorObject {
  bool next(TemplateValue&) override { return false; }
};

IteratorObject& iterate_entries(TemplateHeap& heap, const DictObject& dict, ViewKind view) {
  auto& iterator = heap.make<EntryIterator>();
  iterator.heap = &heap;
  iterator.dict = &dict;
  iterator.view = view;
  return iterator;
}

}  // namespace

bool is_iterable(const TemplateValue& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kString:
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
    case ValueKind::kRange:
    case ValueKind::kView:
    case ValueKind::kIterator:
      return true;
    default:
      return false;
  }
}

IteratorObject& iterate(TemplateHeap& heap, const TemplateValue& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return heap.make<NothingIterator>();
    case ValueKind::kString: {
      auto& iterator = heap.make<CharacterIterator>();
      iterator.budget = &heap.budget();
      iterator.text = value.text;
      return iterator;
    }
    case ValueKind::kList:
    case ValueKind::kTuple: {
      auto& iterator = heap.make<ListIterator>();
      iterator.list = &value.as<ListObject>();
      return iterator;
    }
    case ValueKind::kDict:
      return iterate_entries(heap, value.as<DictObject>(), ViewKind::kKeys);
    case ValueKind::kView: {
      const auto& view = value.as<ViewObject>();
      return iterate_entries(heap, *view.dict, view.view);
    }
    case ValueKind::kRange: {
      auto& iterator = heap.make<RangeIterator>();
      iterator.range = &value.as<RangeObject>();
      return iterator;
    }
    case ValueKind::kIterator:
      return value.as<IteratorObject>();
    default:
      fault("a {} cannot be looped over", type_name(value));
  }
}

std::vector<TemplateValue> values_of(TemplateHeap& heap, const TemplateValue& value) {
  std::vector<TemplateValue> values;
  IteratorObject& iterator = iterate(heap, value);
  for (TemplateValue next; iterator.next(next);) {
    heap.budget().add_elements(1);
    values.push_back(next);
  }
  return values;
}

}  // namespace hearth
