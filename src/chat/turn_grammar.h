// TurnGrammar writes what may be said in a turn as rules: a form's markup, the tools' arguments,
// the answer's shape, tagged with what each byte is.
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

// The rules were made, and the grammar of them takes too long.
class TurnTooComplex : public Error {
 public:
  explicit TurnTooComplex(const std::string& message) : Error(ErrorCode::kRequest, message) {}
};

class TurnGrammar {
 public:
  // `hold_schemas`: of tools whose schema need not be held, too.
  TurnGrammar(const TurnFormat& format, const TurnOrder& order, std::span<const MarkerToken> tokens,
              const VocabularyTrie& vocabulary, bool hold_schemas = true);

  // Throws Error (kRequest) for what cannot be held and must be, TurnTooComplex among it.
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
  // Content may be anything, so a turn may end anywhere but in a call.
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

  // turn_harmony.cc
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
  std::array<Symbol, 2> any_call_ = {};  // outside of quotation marks, and within
  TurnCuts cuts_;
  const uint64_t work_;  // that the set may do for the schemas of all tools, and as much besides
  double schemas_end_;   // when the schemas of all tools have taken their time, of the thread's
  std::vector<std::string> relaxed_;
  size_t relaxed_bytes_ = 0;
};

}  // namespace hearth
