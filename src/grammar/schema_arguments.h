// The arguments of a tool's call as a grammar: the objects that satisfy a schema, written as JSON
// or in one of the forms that models use in its place.
//
//   kJson        {"city": "Oslo", "days": 3}
//   kParameters  <parameter=city>Oslo</parameter><parameter=days>3</parameter>: text as it is, all
//                else as JSON
//                (and True, False, None, which templates make of them in a history)
//   kDictionary  city:<|"|>Oslo<|"|>,days:3
//   kPython      city="Oslo", days=3
//
// All but kJson are without the braces of the outermost object.
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
  // Tags (GrammarBuilder::set_tag) of what is JSON, of names and texts as they are, of what stands
  // for a quotation mark or a colon of JSON, and of Python's words for true, false and null.
  uint8_t json = 0, key = 0, text = 0, quote = 0, colon = 0, word = 0;
  // kParameters: what stands before a key; what stands behind one whose value is a text that
  // matches, and one whose value is JSON, up to where the next parameter may begin.
  Symbol begin = {};
  std::function<Symbol(RegexId texts)> text_value = nullptr;
  std::function<Symbol(Symbol value)> json_value = nullptr;
  // kDictionary: before and behind a text, and what no text has in it.
  Symbol quote_mark = {};
};

// Adds the rules for arguments. Appends to `dropped` what was left out (SchemaOptions::relaxed).
Symbol add_arguments(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                     const ArgumentMarks& marks, std::vector<std::string>& dropped);

}  // namespace hearth
