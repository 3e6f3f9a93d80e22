// Compiles the schema of a tool's arguments to a grammar: the objects that satisfy it, written as
// JSON or in one of the forms that models use instead.
//
//   kJson        {"city": "Oslo", "days": 3}
//   kParameters  <parameter=city>Oslo</parameter><parameter=days>3</parameter>: text as it is, all
//                else as JSON (and True, False, None, which templates make of it in a history)
//   kDictionary  city:<|"|>Oslo<|"|>,days:3
//   kPython      city="Oslo", days=3
//
// All but kJson leave out the braces of the outermost object.
//
// Errors: those of grammar/schema.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_builder.h"
#include "grammar/schema.h"

namespace hearth {

enum class ArgumentSpelling : uint8_t { kJson, kParameters, kDictionary, kPython };

struct ArgumentMarks {
  ArgumentSpelling spelling = ArgumentSpelling::kJson;
  // Tags (GrammarBuilder::set_tag): of JSON, of bare names and texts, of what stands for a
  // quotation mark or a colon of JSON, and of Python's words for true, false and null.
  uint8_t json = 0, key = 0, text = 0, quote = 0, colon = 0, word = 0;
  // kParameters: `begin` precedes a key. text_value() and json_value() give what follows a key, up
  // to where the next parameter may begin: for a value that is one of `texts`, and for a value in
  // JSON.
  Symbol begin = {};
  std::function<Symbol(RegexId texts)> text_value = nullptr;
  std::function<Symbol(Symbol value)> json_value = nullptr;
  // kDictionary: the mark before and after a text, which no text contains.
  Symbol quote_mark = {};
};

// Adds the rules for arguments. Appends to `dropped` what was ignored (SchemaOptions::relaxed).
Symbol add_arguments(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                     const ArgumentMarks& marks, std::vector<std::string>& dropped);

}  // namespace hearth
