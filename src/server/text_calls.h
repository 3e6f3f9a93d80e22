// Read the bodies of POST /tokenize, /detokenize and /apply-template. All throw RequestError.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/completion_request.h"

namespace hearth {

struct TokenizeCall {
  std::string text;
  bool add_special = true;     // add BOS, EOS or others as in the model's prompts
  bool parse_special = false;  // take "<|im_end|>" and the like for control tokens
};

struct TemplateCall {
  boost::json::array messages;  // in the form of CompletionCall
  boost::json::object template_kwargs;
  bool continue_final = false;
};

TokenizeCall read_tokenize_call(std::string_view body, const RequestLimits& limits);
// Returns the token ids, which may be none.
std::vector<int32_t> read_detokenize_call(std::string_view body, const RequestLimits& limits,
                                          uint32_t vocabulary);
TemplateCall read_template_call(std::string_view body, const RequestLimits& limits);

}  // namespace hearth
