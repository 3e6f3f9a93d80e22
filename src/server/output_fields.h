// The fields of a request that say what the text of a reply must look like: response_format
// (OpenAI's), structured_outputs and guided_* (vLLM's), grammar and json_schema (llama-server's).
// docs/api.md has their forms.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "grammar/output_shape.h"

namespace hearth {

// Each reads the field called `name` into the shape, and throws RequestError where another field
// said something before.
void read_response_format(const boost::json::value& field, const std::string& name,
                          OutputShape* shape);
void read_structured_outputs(const boost::json::value& field, const std::string& name,
                             OutputShape* shape);
// The schema is an object, true, false or the JSON text of one.
void read_schema_field(const boost::json::value& field, const std::string& name,
                       OutputShape* shape);
void read_regex_field(const boost::json::value& field, const std::string& name, OutputShape* shape);
void read_choice_field(const boost::json::value& field, const std::string& name,
                       OutputShape* shape);
// GBNF; an empty text says nothing.
void read_grammar_field(const boost::json::value& field, const std::string& name,
                        OutputShape* shape);

}  // namespace hearth
