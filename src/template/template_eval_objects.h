// The objects that the evaluator puts into the heap: scopes that macros may refer to, macros,
// loops.
#pragma once

#include <optional>
#include <vector>

#include "template/template_eval.h"

namespace hearth {

// The most statements and expressions under way in each other, macros' bodies included.
inline constexpr uint32_t kEvaluationDepth = 800;

// Counts a level as long as it lives.
class Nesting {
 public:
  explicit Nesting(uint32_t* depth) : depth_(depth) {
    if (*depth_ >= kEvaluationDepth) {
      fault("it is nested deeper than {} levels", kEvaluationDepth);
    }
    ++*depth_;
  }
  ~Nesting() { --*depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  uint32_t* depth_;
};

struct ScopeObject : TemplateObject {
  TemplateScope scope;
};

struct MacroObject : TemplateObject {
  const Statement* statement = nullptr;
  TemplateScope* scope = nullptr;
};

// `loop`: where a for statement is. Looks ahead only where somebody asks.
struct LoopObject : TemplateObject {
  TemplateHeap* heap = nullptr;
  IteratorObject* source = nullptr;
  TemplateValue iterable;  // undefined where its length is not to be had from it
  int64_t index0 = -1;
  TemplateValue previous, current, next;
  bool has_next = false;
  std::optional<int64_t> length;
  bool asked_changed = false;
  std::vector<TemplateValue> changed;  // what it was asked last

  // Goes to the next item; false at the end.
  bool advance();
  // Whether there is one, which then is `next`.
  bool look_ahead();
  int64_t count();
};

}  // namespace hearth
