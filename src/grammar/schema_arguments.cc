#include "grammar/schema_arguments.h"

#include "grammar/regex_parser.h"
#include "grammar/schema_writer.h"

namespace hearth {
namespace {

// Sets the builder's tag while it lives.
class TagScope {
 public:
  TagScope(GrammarBuilder& builder, uint8_t tag) : builder_(builder), before_(builder.tag()) {
    builder_.set_tag(tag);
  }
  ~TagScope() { builder_.set_tag(before_); }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  GrammarBuilder& builder_;
  uint8_t before_;
};

// A schema and its readers, for one way to spell strings.
struct OpenSchema {
  OpenSchema(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
             bool raw)
      : budget(options.name, options.cpu_seconds, options.steps),
        document(schema, options.name, options.limits),
        texts(builder.regexes(), raw),
        algebra(texts, goals, budget),
        reader(document, texts, goals, algebra, budget, options.relaxed) {}

  GoalId root() { return goals.schema(document.root()); }

  SchemaBudget budget;
  SchemaDocument document;
  SchemaTexts texts;
  GoalTable goals;
  SchemaAlgebra algebra;
  SchemaReader reader;
};

// The pattern of names without quotes, which exclude characters that markup is made of.
constexpr std::string_view kBareName = "[^\\s<>\"'`=:,;{}\\[\\]()|\\\\/]+";

class MarkedWriter : public SchemaWriter {
 public:
  MarkedWriter(GrammarBuilder& builder, OpenSchema& open, const ArgumentMarks& marks)
      : SchemaWriter(builder, open.document, open.texts, open.goals, open.algebra, open.reader,
                     open.budget),
        marks_(marks),
        bare_name_(parse_pattern(builder.regexes(), kBareName, {.search = false})) {}

 protected:
  Symbol tagged(uint8_t tag, RegexId regex) {
    const TagScope scope(builder_, tag);
    return builder_.terminal(regex);
  }
  RegexId bare(RegexId names) { return texts_.set().all_of({names, bare_name_}); }
  // Returns an expression for the words True, False and None, as far as `types` has their types.
  RegexId python_words(TypeBits types) {
    RegexSet& set = texts_.set();
    std::vector<RegexId> words;
    if (types & kNullBit) words.push_back(set.literal("None"));
    if (types & kTrueBit) words.push_back(set.literal("True"));
    if (types & kFalseBit) words.push_back(set.literal("False"));
    return set.any_of(words);
  }
  // Writes a property as NAME mark VALUE, where the mark stands for JSON's colon.
  Symbol bare_pair(RegexId names, std::string_view mark, GoalId goal) {
    const Symbol rule = builder_.rule("property");
    const RegexId marked = with_space(space_, mark, space_);
    add(rule, {tagged(marks_.key, bare(names)), tagged(marks_.colon, marked), value(goal)});
    return rule;
  }

  const ArgumentMarks& marks_;

 private:
  RegexId bare_name_;
};

// Writes properties as parameters; their values are bare texts, or JSON that the other writer
// writes.
class ParameterWriter final : public MarkedWriter {
 public:
  ParameterWriter(GrammarBuilder& builder, OpenSchema& open, OpenSchema& json,
                  const ArgumentMarks& marks)
      : MarkedWriter(builder, open, marks),
        json_(json),
        values_(builder, json.document, json.texts, json.goals, json.algebra, json.reader,
                json.budget) {
    comma_ = builder.rule("nothing");
    builder.add(comma_, {});
  }

 protected:
  Symbol pair(RegexId names, GoalId goal) override {
    const TagScope scope(builder_, marks_.json);
    const Symbol rule = builder_.rule("parameter");
    const Symbol name = tagged(marks_.key, bare(names));
    std::vector<RegexId> texts;
    TypeBits types = 0;
    for (const ValueCase& one : reader_.cases(goal)) {
      types |= one.types;
      if (one.types & kStringBit) texts.push_back(one.strings);
    }
    if (!texts.empty()) {
      add(rule, {marks_.begin, name, marks_.text_value(texts_.any_of(texts))});
    }
    builder_.set_tag(marks_.json);
    const Symbol value = values_.write_types(translate(goal), kAllTypes & ~kStringBit);
    add(rule, {marks_.begin, name, marks_.json_value(value)});
    const RegexId words = python_words(types);
    if (words == texts_.nothing()) return rule;
    add(rule, {marks_.begin, name, marks_.json_value(tagged(marks_.word, words))});
    return rule;
  }

 private:
  // Returns the goal's number in the other schema, which the other reader read from the same text.
  GoalId translate(GoalId goal) {
    if (goal == kNoGoal) return kNoGoal;
    GoalId out = kAnyGoal;
    for (const Condition& condition : goals_.conditions(goal)) {
      GoalId one = kAnyGoal;
      switch (condition.kind) {
        case Condition::Kind::kSchema:
          one = json_.goals.schema(*condition.value);
          break;
        case Condition::Kind::kEquals:
          one = json_.goals.equals(*condition.value);
          break;
        case Condition::Kind::kNot:
          one = json_.goals.negation(translate(condition.goal), condition.value);
          break;
      }
      out = json_.goals.both(out, one);
    }
    return out;
  }

  OpenSchema& json_;
  SchemaWriter values_;
};

class DictionaryWriter final : public MarkedWriter {
 public:
  using MarkedWriter::MarkedWriter;

 protected:
  Symbol pair(RegexId names, GoalId goal) override { return bare_pair(names, ":", goal); }

  Symbol scalars(const ValueCase& value) override {
    ValueCase others = value;
    others.types &= ~kStringBit;
    const Symbol rule = builder_.rule("scalar");
    if (others.types & ~kContainers) add(rule, {SchemaWriter::scalars(others)});
    if (value.types & kStringBit) {
      add(rule, {marks_.quote_mark, tagged(marks_.text, value.strings), marks_.quote_mark});
    }
    return rule;
  }
};

class PythonWriter final : public MarkedWriter {
 public:
  using MarkedWriter::MarkedWriter;

 protected:
  Symbol pair(RegexId names, GoalId goal) override {
    if (!outermost_) return SchemaWriter::pair(names, goal);
    return bare_pair(names, "=", goal);
  }

  Symbol scalars(const ValueCase& value) override {
    RegexSet& set = texts_.set();
    const Symbol rule = builder_.rule("scalar");
    const RegexId words = python_words(value.types);
    if (words != texts_.nothing()) add(rule, {tagged(marks_.word, words)});
    if (value.types & kNumberBit) add(rule, {builder_.terminal(value.numbers)});
    if (!(value.types & kStringBit)) return rule;
    add(rule, {builder_.terminal(texts_.quoted(value.strings))});
    // A text without single quotation marks may stand between two of them. It is spelled as in
    // JSON.
    const Symbol mark = tagged(marks_.quote, set.literal("'"));
    const RegexId none = set.repeat(set.bytes(~ByteSet().set('\'')), 0, kNoLimit);
    add(rule, {mark, builder_.terminal(set.all_of({value.strings, none})), mark});
    return rule;
  }
};

}  // namespace

Symbol add_arguments(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                     const ArgumentMarks& marks, std::vector<std::string>& dropped) {
  const TagScope scope(builder, marks.json);
  const bool raw = marks.spelling == ArgumentSpelling::kParameters ||
                   marks.spelling == ArgumentSpelling::kDictionary;
  OpenSchema open(builder, schema, options, raw);
  Symbol start;
  switch (marks.spelling) {
    case ArgumentSpelling::kJson:
      start = SchemaWriter(builder, open.document, open.texts, open.goals, open.algebra,
                           open.reader, open.budget)
                  .write_types(open.root(), kObjectBit);
      break;
    case ArgumentSpelling::kParameters: {
      OpenSchema json(builder, schema, options, false);
      start = ParameterWriter(builder, open, json, marks).write_members(open.root());
      break;
    }
    case ArgumentSpelling::kDictionary:
      start = DictionaryWriter(builder, open, marks).write_members(open.root());
      break;
    case ArgumentSpelling::kPython:
      start = PythonWriter(builder, open, marks).write_members(open.root());
      break;
  }
  dropped.insert(dropped.end(), open.reader.dropped().begin(), open.reader.dropped().end());
  return start;
}

}  // namespace hearth
