// TurnGrammar writes the grammar of a turn: the format's markup, the tools' arguments and the
// answer's shape. Tags say what each byte is.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/turn_language.h"
#include "chat/turn_markup.h"
#include "grammar/grammar_builder.h"
#include "grammar/schema_arguments.h"

namespace hearth {

// TurnTooComplex: the rules could be made, but building their grammar takes too much work.
class TurnTooComplex : public Error {
 public:
  explicit TurnTooComplex(const std::string& message) : Error(ErrorCode::kRequest, message) {}
};

class TurnGrammar {
 public:
  // `hold_schemas`: enforce also the schemas of tools that are not strict.
  TurnGrammar(const TurnFormat& format, const TurnOrder& order, std::span<const MarkerToken> tokens,
              const VocabularyTrie& vocabulary, bool hold_schemas = true);

  // Builds the grammar. Throws Error (kRequest) if it cannot enforce a schema that must be
  // enforced, and TurnTooComplex if the grammar takes too much work.
  std::shared_ptr<const Grammar> build();

  const TurnCuts& cuts() const { return cuts_; }
  const std::vector<std::string>& relaxed() const { return relaxed_; }
  bool calls_tools() const { return calls_tools_; }
  bool bound() const { return calls_tools_ || has_answer(); }

 private:
  using Symbols = std::vector<Symbol>;
  enum class Opened : uint8_t { kNothing, kReasoning, kContent };

  bool has_answer() const { return order_.answer.kind != OutputKind::kFree; }
  bool only_calls() const { return order_.choice == ToolChoice::kRequired && calls_tools_; }
  // Whether content may be any text, so that the turn may end anywhere except in a call.
  bool is_free() const { return !has_answer() && !only_calls(); }
  Symbol any_of(std::initializer_list<Symbol> some);
  Symbol sequence(std::initializer_list<Symbol> symbols);
  Symbol space(uint64_t most = 0);
  bool begins_anew() const;
  bool has_envelope() const;
  Symbol enveloped(Symbol behind);
  Symbol literal(TurnTag tag, std::string_view marker, bool* quoted = nullptr);
  Symbol answer();

  Opened opened() const;
  Symbol turn();
  Symbol reasoning(bool begun);
  Symbol cut_reasoning(bool begun);
  Symbol body(bool behind_reasoning);
  Symbol free_body(bool behind_reasoning);
  Symbol bare_body();
  bool is_bare(const CallFormat& calls) const;

  Symbol calls(size_t cut);
  Symbol call(const Tool& tool, bool quoted);
  Symbol any_call(bool quoted);
  Symbol name(const Tool& tool);
  Symbol id();
  Symbol arguments(const Tool& tool);
  Symbol any_arguments(const Tool& tool, const ArgumentMarks& marks);
  Symbol schema_arguments(const Tool& tool, const ArgumentMarks& marks, double seconds);
  void relax(std::string sentence);
  ArgumentMarks argument_marks();
  Symbol text_value(RegexId texts);
  Symbol json_value(Symbol value);

  // The rules of harmony (turn_harmony.cc).
  Symbol harmony_turn();
  Symbol harmony_message();
  Symbol harmony_call();

  const TurnFormat& format_;
  const TurnOrder& order_;
  std::span<const MarkerToken> tokens_;
  const bool hold_schemas_;
  GrammarBuilder builder_;
  RegexSet& set_;
  TurnMarkup markup_;
  bool calls_tools_;
  std::array<Symbol, 2> any_call_ = {};  // outside and inside quotation marks
  TurnCuts cuts_;
  // How much work the RegexSet may do for the schemas of all tools. It may do as much again for the
  // rest of the grammar.
  const uint64_t work_;
  double schemas_end_;  // thread time at which the schemas' time is used up
  std::vector<std::string> relaxed_;
  size_t relaxed_bytes_ = 0;
};

}  // namespace hearth
