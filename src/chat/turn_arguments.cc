// The part of TurnGrammar that writes the arguments of calls.
#include <algorithm>

#include "base/error.h"
#include "chat/marker_space.h"
#include "chat/turn_grammar.h"

namespace hearth {
namespace {

constexpr std::string_view kAnyObject = R"({"type":"object"})";
constexpr std::string_view kNoMembers =
    R"({"type":"object","properties":{},"additionalProperties":false})";

// The largest parts that the schema of a tool that is not strict may take: of the time left, and of
// the work left (1 / kPartOfWork). The rest is for other schemas.
constexpr double kMaxTimeShare = 0.5;
constexpr uint64_t kPartOfWork = 2;
// The work reserved for a grammar of any object, to which a schema is relaxed.
constexpr uint64_t kMinWork = 20'000;
// Limits in bytes on one sentence, and on all sentences, about relaxed schemas: clients read them.
constexpr size_t kMaxSentenceBytes = 1000, kMaxRelaxedBytes = 16 << 10;

// Gives a RegexSet the limit `most` on its work as long as this object lives. Then gives it back
// the work that it had left before, less the work done under that limit.
class WorkShare {
 public:
  WorkShare(RegexSet& set, uint64_t most) : set_(set), left_(set.work_left()), most_(most) {
    set_.limit_work(most);
  }
  ~WorkShare() {
    const uint64_t used = most_ - std::min(most_, set_.work_left());
    set_.limit_work(left_ - std::min(left_, used));
  }
  WorkShare(const WorkShare&) = delete;
  WorkShare& operator=(const WorkShare&) = delete;

 private:
  RegexSet& set_;
  const uint64_t left_, most_;
};

constexpr uint8_t number(TurnTag tag) { return static_cast<uint8_t>(tag); }

ArgumentSpelling spelling_of(ArgumentForm form) {
  switch (form) {
    case ArgumentForm::kJson:
      return ArgumentSpelling::kJson;
    case ArgumentForm::kParameters:
      return ArgumentSpelling::kParameters;
    case ArgumentForm::kDictionary:
      return ArgumentSpelling::kDictionary;
    case ArgumentForm::kPython:
      return ArgumentSpelling::kPython;
  }
  return ArgumentSpelling::kJson;
}

}  // namespace

ArgumentMarks TurnGrammar::argument_marks() {
  ArgumentMarks marks{.json = number(TurnTag::kJson),
                      .key = number(TurnTag::kKey),
                      .text = number(TurnTag::kText),
                      .quote = number(TurnTag::kQuote),
                      .colon = number(TurnTag::kColon),
                      .word = number(TurnTag::kWord)};
  if (format_.harmony) return marks;
  const CallFormat& form = *format_.calls;
  marks.spelling = spelling_of(form.arguments);
  if (form.arguments == ArgumentForm::kParameters) {
    marks.begin = sequence({space(), literal(TurnTag::kStructure, form.parameter)});
    marks.text_value = [this](RegexId texts) { return text_value(texts); };
    marks.json_value = [this](Symbol value) { return json_value(value); };
  }
  if (form.arguments == ArgumentForm::kDictionary) {
    marks.quote_mark = literal(TurnTag::kQuote, form.quote);
  }
  return marks;
}

// All tools' schemas together may take as long as a single schema. So a request with many tools
// does not hold up others.
Symbol TurnGrammar::arguments(const Tool& tool) {
  const ArgumentMarks marks = argument_marks();
  const double left = schemas_end_ - SchemaBudget::thread_seconds();
  if (tool.strict) return schema_arguments(tool, marks, left);
  if (!hold_schemas_) return any_arguments(tool, marks);
  try {
    const WorkShare share(set_, set_.work_left() / kPartOfWork);
    return schema_arguments(tool, marks, kMaxTimeShare * left);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRequest) throw;
    relax(error.what());
    return any_arguments(tool, marks);
  }
}

Symbol TurnGrammar::any_arguments(const Tool& tool, const ArgumentMarks& marks) {
  Tool other = tool;
  other.parameters = kAnyObject;
  const WorkShare share(set_, kMinWork);
  return schema_arguments(other, marks, SchemaOptions().cpu_seconds);
}

// Adds a sentence about a relaxed schema, cut to the limits. Sentences contain paths, so they may
// be long, and they may be many.
void TurnGrammar::relax(std::string sentence) {
  if (sentence.size() > kMaxSentenceBytes) {
    sentence.replace(kMaxSentenceBytes, sentence.npos, "...");
  }
  relaxed_bytes_ += sentence.size();
  if (relaxed_bytes_ <= kMaxRelaxedBytes) relaxed_.push_back(std::move(sentence));
}

Symbol TurnGrammar::schema_arguments(const Tool& tool, const ArgumentMarks& marks, double seconds) {
  SchemaOptions options;
  options.name = tool.where.empty() ? tool.name : tool.where;
  options.relaxed = !tool.strict;
  options.cpu_seconds = seconds;
  const std::string_view schema =
      tool.parameters.empty() ? kNoMembers : std::string_view(tool.parameters);
  std::vector<std::string> dropped;
  const Symbol symbol = add_arguments(builder_, schema, options, marks, dropped);
  for (std::string& sentence : dropped) relax(std::move(sentence));
  return symbol;
}

// Returns a text parameter after its key: the key's end marker, the text as it is, and the value's
// end marker. White space of the markers next to the text is taken once; any further white space
// belongs to the text.
Symbol TurnGrammar::text_value(RegexId texts) {
  const CallFormat& form = *format_.calls;
  const std::string_view key_end = without_space_behind(form.key_end);
  const std::string_view line = std::string_view(form.key_end).substr(key_end.size());
  const std::string_view value_end = without_space_before(form.value_end);
  const std::string before(
      std::string_view(form.value_end).substr(0, form.value_end.size() - value_end.size()));
  const MarkerHead head = markup_.head(value_end);
  cuts_.value = head.text;
  cuts_.newline_before_value_end = !before.empty();

  const RegexId all = set_.everything();
  if (head.token < 0) texts = set_.all_of({texts, markup_.without(head.text)});
  RegexId whole = texts;
  if (!before.empty()) {
    const RegexId space = set_.literal(before);
    const RegexId others = set_.complement(set_.concat({all, space}));
    whole = set_.any_of({set_.concat({texts, space}), set_.all_of({texts, others})});
  }
  const RegexId end = set_.literal(head.text);

  const Symbol mark = literal(TurnTag::kStructure, key_end);
  markup_.tag(TurnTag::kValue);
  Symbol value = builder_.terminal(set_.concat({whole, end}));
  if (!line.empty()) {
    const RegexId begin = set_.concat({set_.literal(line), all});
    const RegexId others = set_.all_of({whole, set_.complement(begin)});
    const Symbol other = builder_.terminal(set_.concat({others, end}));
    markup_.tag(TurnTag::kStructure);
    value = any_of({sequence({builder_.terminal(set_.literal(line)), value}), other});
  }
  markup_.tag(TurnTag::kStructure);
  const Symbol token = head.token < 0 ? sequence({}) : markup_.token(head.token);
  const Symbol rest = literal(TurnTag::kStructure, value_end.substr(head.bytes));
  return sequence({mark, value, token, rest});
}

Symbol TurnGrammar::json_value(Symbol value) {
  const CallFormat& form = *format_.calls;
  const std::string& key_end = form.json_key_end.empty() ? form.key_end : form.json_key_end;
  const Symbol before = sequence({literal(TurnTag::kStructure, key_end), space()});
  const Symbol behind = sequence({space(), literal(TurnTag::kStructure, form.value_end)});
  return sequence({before, value, behind});
}

}  // namespace hearth
