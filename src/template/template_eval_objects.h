// The evaluator's objects in the heap: scopes that macros may refer to, macros, loops.
#pragma once

#include <optional>
#include <vector>

#include "template/template_eval.h"

namespace hearth {

// The deepest nesting of statements and expressions in evaluation, bodies of called macros
// included.
inline constexpr uint32_t kEvaluationDepth = 800;

// Counts a level of nesting while it lives.
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

// The variable `loop` of a for statement. It reads the next item in advance only if the template
// asks for it.
struct LoopObject : TemplateObject {
  TemplateHeap* heap = nullptr;
  IteratorObject* source = nullptr;
  TemplateValue iterable;  // undefined where its length is unknown
  int64_t index0 = -1;
  TemplateValue previous, current, next;
  bool has_next = false;
  std::optional<int64_t> length;
  bool asked_changed = false;
  std::vector<TemplateValue> changed;  // the last arguments of loop.changed()

  // Goes to the next item; returns false at the end.
  bool advance();
  // Returns whether there is a next item, and sets `next` to it.
  bool look_ahead();
  int64_t count();
};

}  // namespace hearth
