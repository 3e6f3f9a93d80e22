// TemplateEvaluator's statements, loops and macros; expressions are in template_expression_eval.cc.
#include "template/template_eval.h"

#include <algorithm>
#include <array>

#include "template/template_eval_objects.h"
#include "template/template_ops.h"
#include "template/template_parser.h"
#include "template/template_print.h"

namespace hearth {

namespace {

struct FilteredIterator : IteratorObject {
  std::function<bool(TemplateValue*)> step;
  bool next(TemplateValue& value) override { return step(&value); }
};

}  // namespace

// Sends output to the object's builder while the object lives.
class TemplateEvaluator::Capture {
 public:
  explicit Capture(TemplateEvaluator& evaluator)
      : evaluator_(evaluator), outer_(evaluator.out_), builder_(evaluator.budget_) {
    evaluator_.out_ = &builder_;
  }
  ~Capture() { evaluator_.out_ = outer_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  TemplateValue finish() { return string_value(builder_.finish()); }

 private:
  TemplateEvaluator& evaluator_;
  TextBuilder* outer_;
  TextBuilder builder_;
};

TemplateEvaluator::TemplateEvaluator(TemplateHeap& heap, const TemplateClock& clock)
    : heap_(heap), budget_(heap.budget()), clock_(clock) {
  top_.outer = &globals_;
  for (const char* name : {"namespace", "range", "raise_exception", "strftime_now"}) {
    auto& function = heap_.make<FunctionObject>();
    function.name = name;
    set(name, object_value(ValueKind::kFunction, function));
  }
}

TextRef TemplateEvaluator::render(const Body& body) {
  TextBuilder out(budget_, kRenderedBytes, "the rendered chat");
  out_ = &out;
  run(body, top_);
  return out.finish();
}

// Makes a scope in the heap, since a macro may refer to it until the rendering ends.
TemplateScope& TemplateEvaluator::inner_scope(TemplateScope& outer) {
  auto& object = heap_.make<ScopeObject>();
  object.scope.outer = &outer;
  return object.scope;
}

TemplateEvaluator::Flow TemplateEvaluator::run(const Body& body, TemplateScope& scope) {
  for (const StatementPtr& statement : body) {
    Flow flow = run_statement(*statement, scope);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

TemplateEvaluator::Flow TemplateEvaluator::run_statement(const Statement& statement,
                                                         TemplateScope& scope) {
  Nesting depth(&depth_);
  line_ = statement.line;
  budget_.step();
  switch (statement.kind) {
    case StatementKind::kText:
      out_->append(*statement.text);
      break;
    case StatementKind::kOutput: {
      TemplateValue value = evaluate(*statement.expression, scope);
      line_ = statement.line;
      print_value(*out_, budget_, value);
      break;
    }
    case StatementKind::kIf:
      return run_if(statement, scope);
    case StatementKind::kFor:
      return run_for(statement, scope);
    case StatementKind::kSet:
      assign(statement.target, evaluate(*statement.expression, scope), scope);
      break;
    case StatementKind::kSetBlock:
      return run_set_block(statement, scope);
    case StatementKind::kMacro:
      define_macro(statement, scope);
      break;
    case StatementKind::kFilterBlock:
      return run_filter_block(statement, scope);
    case StatementKind::kGeneration:
      return run(statement.body, inner_scope(scope));
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

TemplateEvaluator::Flow TemplateEvaluator::run_if(const Statement& statement,
                                                  TemplateScope& scope) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition == nullptr || is_truthy(evaluate(*branch.condition, scope))) {
      return run(branch.body, scope);
    }
  }
  return Flow::kOn;
}

TemplateEvaluator::Flow TemplateEvaluator::run_for(const Statement& statement,
                                                   TemplateScope& scope) {
  TemplateValue iterable = evaluate(*statement.expression, scope);
  line_ = statement.line;
  auto& loop = heap_.make<LoopObject>();
  loop.source = &iterate(heap_, iterable);
  loop.heap = &heap_;
  if (statement.condition == nullptr) loop.iterable = iterable;
  if (statement.condition != nullptr) {
    auto& filtered = heap_.make<FilteredIterator>();
    filtered.step = [&, source = loop.source](TemplateValue* item) {
      return next_of(statement, *source, scope, item);
    };
    loop.source = &filtered;
  }
  bool any = false;
  while (loop.advance()) {
    any = true;
    budget_.step();
    TemplateScope& inner = inner_scope(scope);
    inner.names["loop"] = object_value(ValueKind::kLoop, loop);
    assign(statement.target, loop.current, inner);
    if (run(statement.body, inner) == Flow::kBreak) break;
    line_ = statement.line;
  }
  if (any) return Flow::kOn;
  return run(statement.otherwise, inner_scope(scope));
}

// Finds the next item that passes the loop's condition. Returns false if there is none.
bool TemplateEvaluator::next_of(const Statement& statement, IteratorObject& source,
                                TemplateScope& outer, TemplateValue* item) {
  while (source.next(*item)) {
    budget_.step();
    TemplateScope inner;
    inner.outer = &outer;
    assign(statement.target, *item, inner);
    if (is_truthy(evaluate(*statement.condition, inner))) return true;
  }
  return false;
}

void TemplateEvaluator::assign(const Target& target, const TemplateValue& value,
                               TemplateScope& scope) {
  if (!target.attribute.empty()) {
    TemplateValue holder;
    for (TemplateScope* at = &scope; at != nullptr && holder.is_undefined(); at = at->outer) {
      auto found = at->names.find(target.name);
      if (found != at->names.end()) holder = found->second;
    }
    if (!holder.is(ValueKind::kNamespace)) {
      fault("'{}' is not a namespace, so its attributes cannot be assigned",
            target.name.substr(0, 100));
    }
    set_entry(budget_, holder.as<DictObject>(), string_value(budget_, target.attribute), value);
  } else if (!target.name.empty()) {
    scope.names[target.name] = value;
  } else {
    require_defined(value);
    std::vector<TemplateValue> values = values_of(heap_, value);
    if (values.size() != target.targets.size()) {
      fault("{} values are assigned to {} variables", values.size(), target.targets.size());
    }
    for (size_t i = 0; i < values.size(); ++i) assign(target.targets[i], values[i], scope);
  }
}

TemplateValue TemplateEvaluator::filtered(const Expression& filters, TemplateValue subject,
                                          TemplateScope& scope) {
  std::swap(subject_, subject);
  TemplateValue result = evaluate(filters, scope);
  std::swap(subject_, subject);
  return result;
}

TemplateEvaluator::Flow TemplateEvaluator::run_set_block(const Statement& statement,
                                                         TemplateScope& scope) {
  Capture capture(*this);
  Flow flow = run(statement.body, inner_scope(scope));
  if (flow != Flow::kOn) return flow;
  line_ = statement.line;
  TemplateValue value = filtered(*statement.expression, capture.finish(), scope);
  assign(statement.target, value, scope);
  return flow;
}

TemplateEvaluator::Flow TemplateEvaluator::run_filter_block(const Statement& statement,
                                                            TemplateScope& scope) {
  TemplateValue value;
  {
    Capture capture(*this);
    Flow flow = run(statement.body, inner_scope(scope));
    if (flow != Flow::kOn) return flow;
    line_ = statement.line;
    value = filtered(*statement.expression, capture.finish(), scope);
  }
  print_value(*out_, budget_, value);
  return Flow::kOn;
}

void TemplateEvaluator::define_macro(const Statement& statement, TemplateScope& scope) {
  auto& macro = heap_.make<MacroObject>();
  macro.statement = &statement;
  macro.scope = &scope;
  scope.names[statement.name] = object_value(ValueKind::kMacro, macro);
}

TemplateValue TemplateEvaluator::call_macro(const TemplateValue& value,
                                            const Arguments& arguments) {
  const auto& macro = value.as<MacroObject>();
  const Statement& statement = *macro.statement;
  if (macros_ >= kTemplateDepth)
    fault("macros call each other deeper than {} levels", kTemplateDepth);
  Nesting depth(&macros_);
  if (arguments.positional.size() > statement.parameters.size()) {
    fault("the macro '{}' takes {} arguments, and {} are given", statement.name,
          statement.parameters.size(), arguments.positional.size());
  }
  TemplateScope& scope = inner_scope(*macro.scope);
  size_t named = 0;
  for (size_t i = 0; i < statement.parameters.size(); ++i) {
    const Parameter& parameter = statement.parameters[i];
    auto same = [&](const auto& argument) { return argument.first == parameter.name; };
    auto found = std::ranges::find_if(arguments.named, same);
    bool positional = i < arguments.positional.size();
    if (positional) {
      scope.names[parameter.name] = arguments.positional[i];
    } else if (found != arguments.named.end()) {
      scope.names[parameter.name] = found->second;
      ++named;
    } else if (parameter.otherwise != nullptr) {
      TemplateValue otherwise = evaluate(*parameter.otherwise, scope);
      scope.names[parameter.name] = otherwise;
    } else {
      scope.names[parameter.name] =
          undefined_value(budget_, fmt::format("the parameter '{}' was not given", parameter.name));
    }
  }
  if (named < arguments.named.size()) {
    fault("the macro '{}' is given an argument that it does not have, or one argument twice",
          statement.name);
  }
  Capture capture(*this);
  run(statement.body, scope);
  return capture.finish();
}

}  // namespace hearth
