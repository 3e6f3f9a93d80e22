// Reads the fields that restrict a reply's text: response_format (OpenAI), structured_outputs and
// guided_* (vLLM), grammar and json_schema (llama-server). docs/api.md has their forms.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "grammar/output_shape.h"

namespace hearth {

// Each reads the field `name` into `shape`, and throws RequestError, also where another field has
// set a shape before.
void read_response_format(const boost::json::value& field, const std::string& name,
                          OutputShape* shape);
void read_structured_outputs(const boost::json::value& field, const std::string& name,
                             OutputShape* shape);
// Reads a schema: an object, true, false, or the JSON text of one of these.
void read_schema_field(const boost::json::value& field, const std::string& name,
                       OutputShape* shape);
void read_regex_field(const boost::json::value& field, const std::string& name, OutputShape* shape);
void read_choice_field(const boost::json::value& field, const std::string& name,
                       OutputShape* shape);
// Reads a grammar in GBNF; an empty text sets none.
void read_grammar_field(const boost::json::value& field, const std::string& name,
                        OutputShape* shape);

}  // namespace hearth
