// Makes grammars from forms that people write: GBNF, a list of choices, a regular expression.
//
// `spellable` has the bytes for each of which there is a token (VocabularyTrie::single_bytes()).
// Texts with other bytes are left out; a grammar without any other text is refused.
//
// Errors (kRequest): those of the readers (gbnf_reader.h, regex_parser.h) and of GrammarBuilder, as
// predicates: the caller puts the name of its field before them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "grammar/byte_set.h"
#include "grammar/grammar.h"
#include "grammar/grammar_builder.h"

namespace hearth {

// Makes the grammar of the rule "root". Rules that are not recursive become terminals.
std::shared_ptr<const Grammar> gbnf_grammar(std::string_view text,
                                            const ByteSet& spellable = all_bytes());

// Makes a grammar that accepts these texts.
std::shared_ptr<const Grammar> choice_grammar(std::span<const std::string> choices,
                                              const ByteSet& spellable = all_bytes());

// Makes a grammar of the texts that the pattern matches as a whole.
std::shared_ptr<const Grammar> pattern_grammar(std::string_view pattern,
                                               const ByteSet& spellable = all_bytes());

// Add the same texts to a grammar that has other parts, and return the symbol of these texts.
Symbol add_gbnf(GrammarBuilder& builder, std::string_view text);
Symbol add_choices(GrammarBuilder& builder, std::span<const std::string> choices);
Symbol add_pattern(GrammarBuilder& builder, std::string_view pattern);

}  // namespace hearth
