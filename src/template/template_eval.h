// TemplateEvaluator runs a chat template: it walks the template's tree with variables, within a
// budget.
//
// Errors: TemplateFault; line() then returns the line.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "template/template_calls.h"
#include "template/template_tree.h"

namespace hearth {

// The most bytes of a rendered chat.
inline constexpr size_t kRenderedBytes = size_t{4} << 20;

// The variables of one scope, and the enclosing scope.
struct TemplateScope {
  std::unordered_map<std::string, TemplateValue> names;
  TemplateScope* outer = nullptr;
};

struct LoopObject;

class TemplateEvaluator {
 public:
  TemplateEvaluator(TemplateHeap& heap, const TemplateClock& clock);

  // Sets a variable of the outermost scope.
  void set(const std::string& name, TemplateValue value) {
    globals_.names[name] = std::move(value);
  }
  TextRef render(const Body& body);
  uint32_t line() const { return line_; }

 private:
  enum class Flow : uint8_t { kOn, kBreak, kContinue };
  class Capture;

  TemplateScope& inner_scope(TemplateScope& outer);
  Flow run(const Body& body, TemplateScope& scope);
  Flow run_statement(const Statement& statement, TemplateScope& scope);
  Flow run_if(const Statement& statement, TemplateScope& scope);
  Flow run_for(const Statement& statement, TemplateScope& scope);
  Flow run_set_block(const Statement& statement, TemplateScope& scope);
  Flow run_filter_block(const Statement& statement, TemplateScope& scope);
  void define_macro(const Statement& statement, TemplateScope& scope);
  void assign(const Target& target, const TemplateValue& value, TemplateScope& scope);
  TemplateValue filtered(const Expression& filters, TemplateValue subject, TemplateScope& scope);

  TemplateValue evaluate(const Expression& expression, TemplateScope& scope);
  TemplateValue evaluate_parts(const Expression& expression, TemplateScope& scope);
  TemplateValue look_up(const Expression& expression, TemplateScope& scope);
  TemplateValue make_sequence(const Expression& expression, TemplateScope& scope);
  TemplateValue make_dict(const Expression& expression, TemplateScope& scope);
  TemplateValue slice(const Expression& expression, TemplateScope& scope);
  TemplateValue either(const Expression& expression, TemplateScope& scope);
  TemplateValue compare(const Expression& expression, TemplateScope& scope);
  bool compare_one(CompareOp op, const TemplateValue& a, const TemplateValue& b);
  TemplateValue chain(const Expression& expression, TemplateScope& scope);
  TemplateValue concat(const Expression& expression, TemplateScope& scope);
  TemplateValue condition(const Expression& expression, TemplateScope& scope);
  Arguments arguments_of(const Expression& expression, TemplateScope& scope);
  TemplateValue call(const Expression& expression, TemplateScope& scope);
  TemplateValue call_macro(const TemplateValue& macro, const Arguments& arguments);
  TemplateValue attribute(const TemplateValue& object, const Expression& expression);

  bool next_of(const Statement& statement, IteratorObject& source, TemplateScope& outer,
               TemplateValue* item);
  TemplateValue loop_attribute(LoopObject& loop, std::string_view name);
  TemplateValue call_loop(const FunctionObject& method, const Arguments& arguments);

  TemplateHeap& heap_;
  TemplateBudget& budget_;
  const TemplateClock& clock_;
  TemplateScope globals_, top_;
  TextBuilder* out_ = nullptr;
  TemplateValue subject_;
  uint32_t line_ = 0, depth_ = 0, macros_ = 0;
};

}  // namespace hearth
