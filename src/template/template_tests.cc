// The tests of templates (`x is defined`).
#include <algorithm>
#include <array>

#include "template/template_calls.h"

namespace hearth {
namespace {

using Test = bool (*)(TemplateHeap& heap, const TemplateValue& subject, const TemplateValue& other);

struct TestEntry {
  std::string_view name;
  size_t arguments;  // their number, 0 or 1
  Test test;
};

template <ValueKind... kKinds>
bool is_one_of(TemplateHeap&, const TemplateValue& subject, const TemplateValue&) {
  return (subject.is(kKinds) || ...);
}

bool test_defined(TemplateHeap&, const TemplateValue& subject, const TemplateValue&) {
  return !subject.is_undefined();
}

bool test_true(TemplateHeap&, const TemplateValue& subject, const TemplateValue&) {
  return subject.is(ValueKind::kBool) && subject.whole != 0;
}

bool test_false(TemplateHeap&, const TemplateValue& subject, const TemplateValue&) {
  return subject.is(ValueKind::kBool) && subject.whole == 0;
}

bool test_iterable(TemplateHeap&, const TemplateValue& subject, const TemplateValue&) {
  return is_iterable(subject);
}

bool test_equal(TemplateHeap& heap, const TemplateValue& subject, const TemplateValue& other) {
  return equal_values(heap.budget(), subject, other);
}

bool test_unequal(TemplateHeap& heap, const TemplateValue& subject, const TemplateValue& other) {
  return !equal_values(heap.budget(), subject, other);
}

bool test_in(TemplateHeap& heap, const TemplateValue& subject, const TemplateValue& other) {
  return contains(heap, other, subject);
}

template <OrderOp kOp>
bool test_ordered(TemplateHeap& heap, const TemplateValue& subject, const TemplateValue& other) {
  return ordered(heap.budget(), kOp, subject, other);
}

using Kind = ValueKind;
constexpr std::array kTests = {
    TestEntry{"defined", 0, test_defined},
    TestEntry{"undefined", 0, is_one_of<Kind::kUndefined>},
    TestEntry{"none", 0, is_one_of<Kind::kNone>},
    TestEntry{"string", 0, is_one_of<Kind::kString>},
    TestEntry{"mapping", 0, is_one_of<Kind::kDict>},
    TestEntry{"iterable", 0, test_iterable},
    TestEntry{"sequence", 0,
              is_one_of<Kind::kString, Kind::kList, Kind::kTuple, Kind::kDict, Kind::kRange,
                        Kind::kUndefined>},
    TestEntry{"boolean", 0, is_one_of<Kind::kBool>},
    TestEntry{"true", 0, test_true},
    TestEntry{"false", 0, test_false},
    TestEntry{"integer", 0, is_one_of<Kind::kInt>},
    TestEntry{"float", 0, is_one_of<Kind::kFloat>},
    TestEntry{"number", 0, is_one_of<Kind::kBool, Kind::kInt, Kind::kFloat>},
    TestEntry{"in", 1, test_in},
    TestEntry{"equalto", 1, test_equal},
    TestEntry{"eq", 1, test_equal},
    TestEntry{"==", 1, test_equal},
    TestEntry{"ne", 1, test_unequal},
    TestEntry{"!=", 1, test_unequal},
    TestEntry{"lt", 1, test_ordered<OrderOp::kLess>},
    TestEntry{"<", 1, test_ordered<OrderOp::kLess>},
    TestEntry{"lessthan", 1, test_ordered<OrderOp::kLess>},
    TestEntry{"le", 1, test_ordered<OrderOp::kLessEqual>},
    TestEntry{"<=", 1, test_ordered<OrderOp::kLessEqual>},
    TestEntry{"gt", 1, test_ordered<OrderOp::kGreater>},
    TestEntry{">", 1, test_ordered<OrderOp::kGreater>},
    TestEntry{"greaterthan", 1, test_ordered<OrderOp::kGreater>},
    TestEntry{"ge", 1, test_ordered<OrderOp::kGreaterEqual>},
    TestEntry{">=", 1, test_ordered<OrderOp::kGreaterEqual>}};

}  // namespace

bool apply_test(TemplateHeap& heap, std::string_view name, const TemplateValue& subject,
                const Arguments& arguments) {
  auto test = std::ranges::find(kTests, name, &TestEntry::name);
  if (test == kTests.end()) {
    throw TemplateFault(fmt::format("the test '{}' is not supported", name.substr(0, 100)), true);
  }
  heap.budget().step();
  if (!arguments.named.empty() || arguments.positional.size() != test->arguments) {
    fault("the test '{}' takes {} arguments", name, test->arguments);
  }
  return test->test(heap, subject, test->arguments > 0 ? arguments.positional[0] : TemplateValue());
}

}  // namespace hearth
