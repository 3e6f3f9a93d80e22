#include "chat/turn_grammar.h"

#include <fmt/format.h>

#include "base/error.h"
#include "chat/marker_space.h"
#include "grammar/regex_parser.h"
#include "grammar/schema_budget.h"

namespace hearth {
namespace {

constexpr std::string_view kIds = "[A-Za-z0-9_.:-]{1,64}";

std::vector<int32_t> controls_of(const VocabularyTrie& vocabulary) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (vocabulary.role(id) == TokenRole::kControl) ids.push_back(id);
  }
  return ids;
}

}  // namespace

TurnGrammar::TurnGrammar(const TurnFormat& format, const TurnOrder& order,
                         std::span<const MarkerToken> tokens, const VocabularyTrie& vocabulary,
                         bool hold_schemas)
    : format_(format),
      order_(order),
      tokens_(tokens),
      hold_schemas_(hold_schemas),
      set_(builder_.regexes()),
      markup_(builder_, tokens_, controls_of(vocabulary)),
      calls_tools_(order.choice != ToolChoice::kNone && !order.tools.empty() &&
                   format.calls_tools()),
      work_(set_.work_left()),
      schemas_end_(SchemaBudget::thread_seconds() + SchemaOptions().cpu_seconds) {
  set_.restrict_to(vocabulary.single_bytes());
}

std::shared_ptr<const Grammar> TurnGrammar::build() {
  const Symbol start = format_.harmony ? harmony_turn() : turn();
  uint32_t json = tag_bit(TurnTag::kJson);
  if (is_json(order_.answer.kind)) json |= tag_bit(TurnTag::kAnswer);
  builder_.say_names_once(json);
  set_.limit_work(work_);
  try {
    return builder_.build(start);
  } catch (const Error& error) {
    const std::string what = only_calls() || !has_answer() ? "tools" : order_.answer.name;
    throw TurnTooComplex(fmt::format("{}: the schema {}", what, error.what()));
  }
}

Symbol TurnGrammar::any_of(std::initializer_list<Symbol> some) {
  const Symbol rule = builder_.rule("any");
  for (Symbol symbol : some) builder_.add(rule, {symbol});
  return rule;
}

Symbol TurnGrammar::sequence(std::initializer_list<Symbol> symbols) {
  const Symbol rule = builder_.rule("sequence");
  builder_.add(rule, symbols);
  return rule;
}

Symbol TurnGrammar::space(uint64_t most) {
  markup_.tag(TurnTag::kStructure);
  return builder_.terminal(markup_.space(most));
}

Symbol TurnGrammar::literal(TurnTag tag, std::string_view marker, bool* quoted) {
  markup_.tag(tag);
  return markup_.marker(marker, quoted);
}

Symbol TurnGrammar::answer() {
  markup_.tag(TurnTag::kAnswer);
  return add_shape(builder_, order_.answer);
}

// Returns which part of the turn the prompt has opened: the one of its last reasoning marker, if
// only white space follows the marker or the prompt's message goes on.
TurnGrammar::Opened TurnGrammar::opened() const {
  if (format_.reasoning_end.empty()) return Opened::kContent;
  const std::string_view tail = order_.prompt_tail;
  const size_t begin = format_.reasoning_begin.empty() ? std::string_view::npos
                                                       : tail.rfind(format_.reasoning_begin);
  const size_t end = tail.rfind(format_.reasoning_end);
  const bool begins = begin != std::string_view::npos;
  const bool ends = end != std::string_view::npos;
  if (begins && (!ends || begin > end)) {
    const std::string_view behind = tail.substr(begin + format_.reasoning_begin.size());
    return order_.prompt_goes_on || without_space_around(behind).empty() ? Opened::kReasoning
                                                                         : Opened::kNothing;
  }
  if (!ends) return order_.prompt_goes_on ? Opened::kContent : Opened::kNothing;
  const std::string_view behind = tail.substr(end + format_.reasoning_end.size());
  return order_.prompt_goes_on || without_space_around(behind).empty() ? Opened::kContent
                                                                       : Opened::kNothing;
}

Symbol TurnGrammar::turn() {
  switch (opened()) {
    case Opened::kReasoning: {
      const Symbol whole = sequence({reasoning(true), body(true)});
      return is_free() ? any_of({whole, cut_reasoning(true)}) : whole;
    }
    case Opened::kContent:
      return body(false);
    case Opened::kNothing:
      break;
  }
  // If reasoning may begin again in the content, the content may also start with it.
  if (is_free() && begins_anew()) return body(false);
  const Symbol behind = sequence({space(), reasoning(false), body(true)});
  if (!is_free()) return any_of({behind, body(false)});
  return any_of({behind, body(false), sequence({space(), cut_reasoning(false)})});
}

Symbol TurnGrammar::reasoning(bool begun) {
  const MarkerHead head = markup_.head(format_.reasoning_end);
  cuts_.reasoning = head.text;
  const Symbol begin = begun ? sequence({}) : literal(TurnTag::kStructure, format_.reasoning_begin);
  markup_.tag(TurnTag::kReasoning);
  const Symbol text = markup_.free_text_until(head, {}, set_.everything());
  const std::string_view rest = std::string_view(format_.reasoning_end).substr(head.bytes);
  return sequence({begin, text, literal(TurnTag::kStructure, rest)});
}

// Returns reasoning without its end marker: the turn ends within it.
Symbol TurnGrammar::cut_reasoning(bool begun) {
  const MarkerHead head = markup_.head(format_.reasoning_end);
  const Symbol begin = begun ? sequence({}) : literal(TurnTag::kStructure, format_.reasoning_begin);
  markup_.tag(TurnTag::kReasoning);
  const RegexId text = head.token < 0 ? markup_.without(head.text) : set_.everything();
  const int32_t excluded[] = {head.token};
  return sequence({begin, markup_.free_text(excluded, text)});
}

Symbol TurnGrammar::body(bool behind_reasoning) {
  if (only_calls()) return sequence({space(), calls(0), space()});
  if (has_answer()) {
    const Symbol before = behind_reasoning ? space() : sequence({});
    Symbol whole = sequence({before, answer()});
    if (has_envelope()) {
      const Symbol begin = literal(TurnTag::kStructure, format_.content_begin);
      const Symbol end = literal(TurnTag::kStructure, format_.content_end);
      whole = any_of({whole, sequence({before, begin, answer(), end})});
    }
    return calls_tools_ ? any_of({whole, sequence({space(), calls(0), space()})}) : whole;
  }
  if (calls_tools_ && is_bare(*format_.calls)) return bare_body();
  return free_body(behind_reasoning);
}

// Whether reasoning may begin again within content. It may if its marker begins with one token, by
// which it is told from text anywhere.
bool TurnGrammar::begins_anew() const {
  if (format_.reasoning_begin.empty() || has_envelope()) return false;
  if (calls_tools_ && is_bare(*format_.calls)) return false;
  const MarkerHead begin = markup_.head(format_.reasoning_begin);
  return begin.token >= 0 && begin.text.empty();
}

// Whether the markers around content begin with one token each.
bool TurnGrammar::has_envelope() const {
  const MarkerHead begin = markup_.head(format_.content_begin);
  const MarkerHead end = markup_.head(format_.content_end);
  return begin.token >= 0 && begin.text.empty() && end.token >= 0 && end.text.empty();
}

// Returns content between its markers, and what follows it; or content in which the turn ends.
Symbol TurnGrammar::enveloped(Symbol behind) {
  const MarkerHead end = markup_.head(format_.content_end);
  const Symbol begin = sequence({space(), literal(TurnTag::kStructure, format_.content_begin)});
  markup_.tag(TurnTag::kContent);
  const Symbol whole = markup_.free_text_until(end, {}, set_.everything());
  markup_.tag(TurnTag::kContent);
  const int32_t excluded[] = {end.token};
  const Symbol cut = markup_.free_text(excluded, set_.everything());
  return any_of({sequence({begin, whole, space(), behind}), sequence({begin, cut})});
}

// Returns content with calls after it. Reasoning may begin again in between if its marker begins
// with one token.
Symbol TurnGrammar::free_body(bool behind_reasoning) {
  std::vector<int32_t> excluded;
  RegexId first = set_.everything();
  Symbol again = kNoSymbol;
  const MarkerHead reasoning_begin = markup_.head(format_.reasoning_begin);
  if (reasoning_begin.token >= 0) excluded.push_back(reasoning_begin.token);
  if (begins_anew()) {
    again = sequence({reasoning(false), space(kNoLimit)});
  } else if (reasoning_begin.token < 0 && reasoning_begin.bytes > 0 && !behind_reasoning) {
    const RegexId marker = set_.literal(format_.reasoning_begin);
    first = set_.complement(set_.concat({markup_.space(), marker, set_.everything()}));
  }
  Symbol before = sequence({});
  if (behind_reasoning) {  // white space at its beginning is not the content's
    before = space(kNoLimit);
    first = set_.all_of({first, markup_.not_spaced()});
  }
  if (has_envelope()) excluded.push_back(markup_.head(format_.content_begin).token);
  const Symbol none = sequence({});
  const Symbol end = again == kNoSymbol ? none : any_of({none, cut_reasoning(false)});
  markup_.tag(TurnTag::kContent);
  if (!calls_tools_) {
    const Symbol plain = sequence({markup_.free_text(excluded, first, again), end});
    return sequence({before, has_envelope() ? any_of({plain, enveloped(none)}) : plain});
  }
  const CallFormat& form = *format_.calls;
  const std::string_view opening = form.section_begin.empty() ? form.begin : form.section_begin;
  const std::string_view marker = without_space_before(opening);
  const MarkerHead head = markup_.head(marker);
  cuts_.content = head.text;
  const Symbol called = markup_.free_text_until(head, excluded, first, again);
  if (head.token >= 0) {
    excluded.push_back(head.token);
  } else {
    first = set_.all_of({first, markup_.without(head.text)});
  }
  markup_.tag(TurnTag::kContent);
  const Symbol alone = sequence({markup_.free_text(excluded, first, again), end});
  const size_t cut = opening.size() - marker.size() + head.bytes;
  Symbol all = any_of({alone, sequence({called, calls(cut), space()})});
  if (has_envelope()) {
    const Symbol called_behind = sequence({space(), calls(0), space()});
    all = any_of({all, enveloped(any_of({none, called_behind}))});
  }
  return sequence({before, all});
}

// Whether calls begin without markup. Such calls are recognised only at the turn's beginning, by
// all of the text up to their arguments.
bool TurnGrammar::is_bare(const CallFormat& calls) const {
  const std::string_view opening = calls.section_begin.empty() ? calls.begin : calls.section_begin;
  const std::string_view text = without_space_before(opening);
  if (split_marker(text, tokens_).empty()) return true;
  if (split_marker(text, tokens_)[0].token >= 0 || markup_.head(text).token >= 0) return false;
  const bool tag =
      text[0] == '<' || (text[0] == '[' && text.size() > 1 && text[1] >= 'A' && text[1] <= 'Z');
  return !tag;
}

Symbol TurnGrammar::bare_body() {
  const CallFormat& form = *format_.calls;
  std::vector<RegexId> names;
  for (const Tool& tool : order_.tools) names.push_back(set_.literal(tool.name));
  bool quoted = false;
  const RegexId begin = markup_.marker_text(form.section_begin + form.begin, &quoted);
  const RegexId name_end = markup_.marker_text(form.name_end, &quoted);
  const RegexId call =
      set_.concat({markup_.space(), begin, set_.any_of(names), name_end, set_.everything()});
  markup_.tag(TurnTag::kContent);
  const Symbol alone = markup_.free_text({}, set_.complement(call));
  return any_of({alone, sequence({space(), calls(0), space()})});
}

// Returns the calls with their markup, without the first `cut` bytes of the markup.
Symbol TurnGrammar::calls(size_t cut) {
  const CallFormat& form = *format_.calls;
  const bool section = !form.section_begin.empty();
  const std::string opening = (section ? form.section_begin : form.begin).substr(cut);
  bool quoted = false;
  Symbol first = literal(TurnTag::kStructure, opening, &quoted);
  if (section) first = sequence({first, literal(TurnTag::kStructure, form.begin, &quoted)});
  bool again_quoted = false;
  const bool several = order_.parallel && !form.one;
  const Symbol behind = any_call(quoted);
  const Symbol end =
      form.section_end.empty() ? sequence({}) : literal(TurnTag::kStructure, form.section_end);
  if (!several) return sequence({first, behind, end});
  const Symbol separator = sequence({space(), literal(TurnTag::kStructure, form.separator)});
  const Symbol next =
      sequence({separator, literal(TurnTag::kStructure, form.begin, &again_quoted), behind});
  return sequence({first, behind, builder_.repeated(next, 0, kNoLimit), end});
}

Symbol TurnGrammar::any_call(bool quoted) {
  Symbol& rule = any_call_[quoted ? 1 : 0];
  if (rule != kNoSymbol) return rule;
  rule = builder_.rule("call");
  for (const Tool& tool : order_.tools) builder_.add(rule, {call(tool, quoted)});
  return rule;
}

Symbol TurnGrammar::name(const Tool& tool) {
  markup_.tag(TurnTag::kName);
  return builder_.terminal(set_.literal(tool.name));
}

Symbol TurnGrammar::id() {
  markup_.tag(TurnTag::kId);
  return builder_.terminal(parse_pattern(set_, kIds, {.search = false}));
}

// Returns a call after its begin marker.
Symbol TurnGrammar::call(const Tool& tool, bool quoted) {
  const CallFormat& form = *format_.calls;
  auto mark = [&](std::string_view marker) {
    return literal(TurnTag::kStructure, marker, &quoted);
  };
  Symbols parts;
  if (form.id_place == IdPlace::kBeforeName) {
    parts.push_back(id());
    parts.push_back(mark(form.id_end));
  }
  if (form.id_place == IdPlace::kAroundName) {
    markup_.tag(TurnTag::kId);
    parts.push_back(builder_.terminal(set_.literal(form.id_begin)));
    parts.push_back(name(tool));
    markup_.tag(TurnTag::kId);
    parts.push_back(builder_.terminal(parse_pattern(set_, ":[0-9]{1,4}", {.search = false})));
  } else {
    parts.push_back(name(tool));
  }
  if (form.id_place == IdPlace::kBehindName) {
    parts.push_back(any_of({sequence({mark(form.id_begin), id()}), sequence({})}));
  }
  parts.push_back(mark(form.name_end));
  parts.push_back(arguments(tool));
  if (form.id_place == IdPlace::kBehindArguments) {
    // A model may leave out the id.
    const bool before = quoted;
    parts.push_back(
        any_of({sequence({mark(form.id_begin), id(), mark(form.id_end)}), sequence({})}));
    quoted = before;
  }
  parts.push_back(literal(TurnTag::kCallEnd, form.end, &quoted));
  const Symbol rule = builder_.rule("call");
  builder_.add(rule, parts);
  return rule;
}

}  // namespace hearth
