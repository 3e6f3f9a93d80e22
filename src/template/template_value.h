// TemplateValue: the values that a chat template computes with, as in Python: undefined, None,
// booleans, whole numbers (of 64 bits), floats, strings, lists, tuples, mappings, functions and
// loops. Values are small and copied; lists and the like live in the TemplateHeap until the
// rendering ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "template/template_text.h"

namespace hearth {

enum class ValueKind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kView,
  kNamespace,
  kIterator,
  kFunction,
  kMethod,
  kMacro,
  kLoop,
};

// An object in the heap.
struct TemplateObject {
  TemplateObject() = default;
  TemplateObject(const TemplateObject&) = delete;
  TemplateObject& operator=(const TemplateObject&) = delete;
  virtual ~TemplateObject() = default;
};

struct TemplateValue {
  ValueKind kind = ValueKind::kUndefined;
  bool untrusted =
      false;  // a number, a boolean or None of the request; strings record this in their text
  union {
    int64_t whole = 0;  // kInt, and kBool as 0 or 1
    double real;
    TemplateObject* object;
  };
  TextRef text;  // kString; of kUndefined, the reason

  bool is(ValueKind other) const { return kind == other; }
  bool is_string() const { return kind == ValueKind::kString; }
  bool is_undefined() const { return kind == ValueKind::kUndefined; }
  // Returns whether it is a whole number; booleans are, too.
  bool is_whole() const { return kind == ValueKind::kInt || kind == ValueKind::kBool; }
  bool is_number() const { return is_whole() || kind == ValueKind::kFloat; }
  double number() const { return kind == ValueKind::kFloat ? real : static_cast<double>(whole); }
  std::string_view bytes() const { return text->bytes(); }
  template <typename T>
  T& as() const {
    return static_cast<T&>(*object);
  }
};

// The items of a list or a tuple.
struct ListObject : TemplateObject {
  std::vector<TemplateValue> items;
};

// The entries of a mapping in the order in which their keys were added.
struct DictObject : TemplateObject {
  std::vector<std::pair<TemplateValue, TemplateValue>> entries;
};

struct RangeObject : TemplateObject {
  int64_t start, stop, step;
  int64_t count;
  int64_t at(int64_t index) const { return start + index * step; }
};

enum class ViewKind : uint8_t { kItems, kKeys, kValues };

struct ViewObject : TemplateObject {
  const DictObject* dict;
  ViewKind view;
};

// An iterator: gives each value once.
struct IteratorObject : TemplateObject {
  virtual bool next(TemplateValue& value) = 0;
};

// A function by name: one of the program's, or a method of `self`.
struct FunctionObject : TemplateObject {
  std::string name;
  TemplateValue self;
};

class TemplateHeap {
 public:
  explicit TemplateHeap(TemplateBudget& budget) : budget_(budget) {}

  template <typename T>
  T& make() {
    budget_.add_elements(4);
    auto object = std::make_unique<T>();
    T& made = *object;
    objects_.push_back(std::move(object));
    return made;
  }
  TemplateBudget& budget() { return budget_; }

 private:
  TemplateBudget& budget_;
  std::vector<std::unique_ptr<TemplateObject>> objects_;
};

// The arguments of a call.
struct Arguments {
  std::vector<TemplateValue> positional;
  std::vector<std::pair<std::string, TemplateValue>> named;
};

TemplateValue none_value();
TemplateValue bool_value(bool value, bool untrusted = false);
TemplateValue int_value(int64_t value, bool untrusted = false);
TemplateValue float_value(double value, bool untrusted = false);
TemplateValue object_value(ValueKind kind, TemplateObject& object);
TemplateValue string_value(TextRef text);
// Makes a string of trusted bytes.
TemplateValue string_value(TemplateBudget& budget, std::string_view bytes);
// `why` is the reason: "'x' is undefined".
TemplateValue undefined_value(TemplateBudget& budget, std::string_view why);

// Returns the name of the type in Python, for messages.
const char* type_name(const TemplateValue& value);
[[noreturn]] void fault_undefined(const TemplateValue& undefined);
// Throws where the value is undefined.
inline void require_defined(const TemplateValue& value) {
  if (value.is_undefined()) fault_undefined(value);
}

// The deepest nesting of lists and mappings.
inline constexpr uint32_t kValueDepth = 128;
void check_value_depth(uint32_t depth);

bool is_truthy(const TemplateValue& value);
bool equal_values(TemplateBudget& budget, const TemplateValue& a, const TemplateValue& b,
                  uint32_t depth = 0);
enum class OrderOp : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual };
// Compares by `op`. Throws where the two values have no order.
bool ordered(TemplateBudget& budget, OrderOp op, const TemplateValue& a, const TemplateValue& b,
             uint32_t depth = 0);
bool contains(TemplateHeap& heap, const TemplateValue& container, const TemplateValue& item);

// Returns the entry's value, or nullptr. Throws where the key's type cannot be a key.
const TemplateValue* find_entry(TemplateBudget& budget, const DictObject& dict,
                                const TemplateValue& key);
void set_entry(TemplateBudget& budget, DictObject& dict, const TemplateValue& key,
               TemplateValue value);
bool is_hashable(const TemplateValue& value);

// Sets the number of elements (characters, keys). Returns false where the value has none.
bool length_of(TemplateBudget& budget, const TemplateValue& value, size_t* length);

// Returns an iterator over the value. Throws where it is not iterable.
IteratorObject& iterate(TemplateHeap& heap, const TemplateValue& value);
bool is_iterable(const TemplateValue& value);
// Returns all values of an iteration over the value.
std::vector<TemplateValue> values_of(TemplateHeap& heap, const TemplateValue& value);
TemplateValue make_list(TemplateHeap& heap, std::vector<TemplateValue> items,
                        ValueKind kind = ValueKind::kList);
// Returns the character at byte `*at`, and moves `*at` behind it.
TemplateValue character_at(TemplateBudget& budget, const Text& text, size_t* at);

}  // namespace hearth
