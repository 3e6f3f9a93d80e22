// The tree of a chat template, which the parser makes and the evaluator walks. After parsing it
// does not change, so any number of renderings share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "template/template_ops.h"
#include "template/template_value.h"

namespace hearth {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : uint8_t {
  kConstant,   // `constant`
  kName,       // `name`
  kSubject,    // the body's text, in the filters of a filter block or a set block
  kList,       // `children`
  kTuple,      // `children`
  kDict,       // `children`: key, value, key, value...
  kAttribute,  // children[0].name
  kItem,       // children[0][children[1]]
  kSlice,      // children[0][children[1]:children[2]:children[3]], each but the first may be null
  kCall,       // children[0](children[1]..., named...)
  kFilter,     // children[0] | name(children[1]..., named...)
  kTest,       // children[0] is name(children[1]..., named...)
  kNot,
  kNegate,
  kPlus,
  kAnd,        // of all children
  kOr,         // of all children
  kCompare,    // children[0] compares[0] children[1] compares[1] ...
  kChain,      // children[0] operators[0] children[1] ..., from left to right
  kConcat,     // of all children
  kCondition,  // children[1] if children[0] else children[2], which may be null
};

enum class CompareOp : uint8_t {
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kIn,
  kNotIn
};

struct Expression {
  ExpressionKind kind;
  uint32_t line;
  std::string name;
  TemplateValue constant;
  std::vector<ExpressionPtr> children;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<BinaryOp> operators;
  std::vector<CompareOp> compares;
};

// The target of an assignment: a name, an attribute of a namespace, or several of those.
struct Target {
  std::string name;
  std::string attribute;        // of the namespace `name`; empty: `name` itself
  std::vector<Target> targets;  // a tuple, where `name` is empty
};

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

enum class StatementKind : uint8_t {
  kText,         // `text`
  kOutput,       // `expression`
  kIf,           // `branches`, the last of which may have no condition
  kFor,          // `target` in `expression` if `condition`: `body`, else `otherwise`
  kSet,          // `target` = `expression`
  kSetBlock,     // `target` = `body`, through the filters of `expression`, which may be null
  kMacro,        // `name`, `parameters`, `body`
  kFilterBlock,  // `body` through the filters of `expression`
  kGeneration,   // `body`
  kBreak,
  kContinue,
};

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // may be null
};

struct Branch {
  ExpressionPtr condition;
  Body body;
};

struct Statement {
  StatementKind kind;
  uint32_t line;
  TextRef text;
  std::string name;
  Target target;
  ExpressionPtr expression, condition;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  Body body, otherwise;
};

}  // namespace hearth
