// The grammar of harmony, the format of gpt-oss: a turn is messages, each with a channel and
// perhaps a recipient.
//
//   <|channel|>analysis<|message|>REASONING<|end|><|start|>assistant
//   <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>ARGUMENTS<|call|>
//   <|channel|>final<|message|>CONTENT<|return|>
#include "chat/turn_grammar.h"

namespace hearth {

// Returns a turn of any messages, the last of which ends it.
Symbol TurnGrammar::harmony_turn() {
  const std::string_view tail = order_.prompt_tail;
  const bool in_reasoning = tail.ends_with("<|channel|>analysis<|message|>");
  const bool in_content = tail.ends_with("<|channel|>final<|message|>");
  const Symbol next = literal(TurnTag::kStructure, "<|start|>assistant");
  const Symbol none = sequence({});
  const Symbol begin = tail.ends_with("<|start|>assistant") ? none : any_of({next, none});
  markup_.tag(TurnTag::kReasoning);
  const MarkerHead end = markup_.head("<|end|>");
  cuts_.reasoning = end.text;
  const Symbol thought = markup_.free_text_until(end, {}, set_.everything());
  const Symbol analysis = literal(TurnTag::kStructure, "<|channel|>analysis<|message|>");
  const Symbol think = sequence({analysis, thought, next});
  const Symbol message = harmony_message();
  const Symbol rest = sequence({builder_.repeated(think, 0, kNoLimit), message});
  if (in_reasoning) {
    const Symbol whole = sequence({thought, next, rest});
    if (!is_free()) return whole;
    markup_.tag(TurnTag::kReasoning);
    const int32_t excluded[] = {end.token};
    return any_of({whole, markup_.free_text(excluded, set_.everything())});
  }
  if (in_content && !only_calls()) {
    if (has_answer()) return answer();
    markup_.tag(TurnTag::kContent);
    return markup_.free_text({}, set_.everything());
  }
  return sequence({begin, rest});
}

Symbol TurnGrammar::harmony_message() {
  const Symbol rule = builder_.rule("message");
  const MarkerHead end = markup_.head("<|end|>");
  const int32_t excluded[] = {end.token, markup_.head("<|return|>").token};
  if (calls_tools_) builder_.add(rule, {harmony_call()});
  if (only_calls()) return rule;
  const Symbol constrained = any_of(
      {sequence({}), sequence({space(), literal(TurnTag::kStructure, "<|constrain|>json")})});
  const Symbol message = literal(TurnTag::kStructure, "<|message|>");
  const Symbol last = any_of({sequence({}), literal(TurnTag::kStructure, "<|end|>"),
                              literal(TurnTag::kStructure, "<|return|>")});
  const Symbol final_channel = literal(TurnTag::kStructure, "<|channel|>final");
  if (has_answer()) {
    builder_.add(rule, {final_channel, constrained, message, answer(), last});
    return rule;
  }
  markup_.tag(TurnTag::kContent);
  const Symbol text = markup_.free_text(excluded, set_.everything());
  builder_.add(rule, {final_channel, constrained, message, text, last});
  // A preamble: content after which another message follows.
  const Symbol preamble = literal(TurnTag::kStructure, "<|channel|>commentary<|message|>");
  markup_.tag(TurnTag::kContent);
  const Symbol spoken = markup_.free_text_until(end, {}, set_.everything());
  const Symbol next = literal(TurnTag::kStructure, "<|start|>assistant");
  builder_.add(rule, {preamble, text, last});
  builder_.add(rule, {preamble, spoken, next, rule});
  // Text without a channel is content: models not made for harmony write it.
  const RegexId recipient = set_.concat({markup_.space(), set_.literal("to="), set_.everything()});
  const int32_t markers[] = {end.token, excluded[1], markup_.head("<|channel|>").token};
  markup_.tag(TurnTag::kContent);
  builder_.add(rule, {markup_.free_text(markers, set_.complement(recipient)), last});
  if (!is_free()) return rule;
  markup_.tag(TurnTag::kReasoning);
  const Symbol cut = markup_.free_text(excluded, set_.everything());
  builder_.add(rule, {literal(TurnTag::kStructure, "<|channel|>analysis<|message|>"), cut});
  return rule;
}

// Returns a call; its recipient stands in the role or after the channel.
Symbol TurnGrammar::harmony_call() {
  const Symbol json = literal(TurnTag::kStructure, "json");
  const Symbol constrain = literal(TurnTag::kStructure, "<|constrain|>");
  const Symbol kind = any_of({sequence({}), json, sequence({constrain, json})});
  const Symbol message = literal(TurnTag::kStructure, "<|message|>");
  const Symbol channel = any_of({literal(TurnTag::kStructure, "<|channel|>commentary"),
                                 literal(TurnTag::kStructure, "<|channel|>analysis")});
  const Symbol to = sequence({space(), literal(TurnTag::kStructure, "to=functions.")});
  const Symbol call = builder_.rule("call");
  for (const Tool& tool : order_.tools) {
    const Symbol named = sequence({to, name(tool)});
    const Symbol header = any_of({sequence({named, space(), channel}), sequence({channel, named})});
    builder_.add(call, {header, space(), kind, message, arguments(tool)});
  }
  const Symbol end = literal(TurnTag::kCallEnd, "<|call|>");
  return sequence({call, any_of({sequence({}), end})});
}

}  // namespace hearth
