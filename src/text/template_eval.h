// The evaluator of chat templates: walks a template's tree with variables, within a budget.
//
// Errors: TemplateFault; line() then says where.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "text/template_calls.h"
#include "text/template_tree.h"

namespace hearth {

// Bytes of a rendered chat.
inline constexpr size_t kRenderedBytes = size_t{4} << 20;

// The names of one scope, and the scope around it.
struct TemplateScope {
  std::unordered_map<std::string, Value> names;
  TemplateScope* outer = nullptr;
};

struct LoopObject;

class TemplateEvaluator {
 public:
  TemplateEvaluator(TemplateHeap& heap, const TemplateClock& clock);

  // A variable of the outermost scope.
  void set(const std::string& name, Value value) { globals_.names[name] = std::move(value); }
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
  void assign(const Target& target, const Value& value, TemplateScope& scope);
  Value filtered(const Expression& filters, Value subject, TemplateScope& scope);

  Value evaluate(const Expression& expression, TemplateScope& scope);
  Value evaluate_parts(const Expression& expression, TemplateScope& scope);
  Value look_up(const Expression& expression, TemplateScope& scope);
  Value make_sequence(const Expression& expression, TemplateScope& scope);
  Value make_dict(const Expression& expression, TemplateScope& scope);
  Value slice(const Expression& expression, TemplateScope& scope);
  Value either(const Expression& expression, TemplateScope& scope);
  Value compare(const Expression& expression, TemplateScope& scope);
  bool compare_one(CompareOp op, const Value& a, const Value& b);
  Value chain(const Expression& expression, TemplateScope& scope);
  Value concat(const Expression& expression, TemplateScope& scope);
  Value condition(const Expression& expression, TemplateScope& scope);
  Arguments arguments_of(const Expression& expression, TemplateScope& scope);
  Value call(const Expression& expression, TemplateScope& scope);
  Value call_macro(const Value& macro, const Arguments& arguments);
  Value attribute(const Value& object, const Expression& expression);

  bool next_of(const Statement& statement, IteratorObject& source, TemplateScope& outer,
               Value* item);
  Value loop_attribute(LoopObject& loop, std::string_view name);
  Value call_loop(const FunctionObject& method, const Arguments& arguments);

  TemplateHeap& heap_;
  TemplateBudget& budget_;
  const TemplateClock& clock_;
  TemplateScope globals_, top_;
  TextBuilder* out_ = nullptr;
  Value subject_;
  uint32_t line_ = 0, depth_ = 0, macros_ = 0;
};

}  // namespace hearth
