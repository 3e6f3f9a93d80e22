// Grammars from what people write by hand: GBNF, a list of choices, a pattern.
//
// `spellable`: bytes that the vocabulary has a token for each (VocabularyTrie::single_bytes());
// texts with others are left out, and a grammar that has none without them is refused.
//
// Errors (kRequest): those of the readers (gbnf_reader.h, regex_parser.h) and of GrammarBuilder, as
// predicates: who names the field puts its name before them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "grammar/byte_set.h"
#include "grammar/grammar.h"
#include "grammar/grammar_builder.h"

namespace hearth {

// Makes the grammar of the rule "root". Rules that don't lead back to themselves become terminals.
std::shared_ptr<const Grammar> gbnf_grammar(std::string_view text,
                                            const ByteSet& spellable = all_bytes());

// Makes the grammar of one of these texts.
std::shared_ptr<const Grammar> choice_grammar(std::span<const std::string> choices,
                                              const ByteSet& spellable = all_bytes());

// A text that the pattern matches from its beginning to its end.
std::shared_ptr<const Grammar> pattern_grammar(std::string_view pattern,
                                               const ByteSet& spellable = all_bytes());

// Both add such a grammar as a part of one that has others, too.
Symbol add_gbnf(GrammarBuilder& builder, std::string_view text);
Symbol add_choices(GrammarBuilder& builder, std::span<const std::string> choices);
Symbol add_pattern(GrammarBuilder& builder, std::string_view pattern);

}  // namespace hearth
