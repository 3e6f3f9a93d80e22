// Readers of a completion's fields that are more than a number: stop strings, biases, prompts. All
// throw RequestError that names the faulty entry ("stop[3]").
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/completion_request.h"

namespace hearth {

// Reads stop strings: a string, or an array of at most `most`; none may be empty or longer than
// `bytes`.
std::vector<std::string> stop_fields(const boost::json::value& value, const std::string& param,
                                     size_t most, size_t bytes);

// Reads logit_bias: an object of at most `most` token ids with biases from -100 to 100. -100
// becomes -inf, which forbids the token whatever its logit.
std::vector<std::pair<int32_t, float>> bias_fields(const boost::json::value& value,
                                                   const std::string& param, size_t most,
                                                   uint32_t vocabulary);

// Reads an array of token ids, which may be empty.
std::vector<int32_t> ids_field(const boost::json::array& array, const std::string& param,
                               uint32_t vocabulary);

// Reads prompts: a string, an array of token ids, or an array of at most `most` of these.
std::vector<Prompt> prompt_fields(const boost::json::value& value, const std::string& param,
                                  size_t most, uint32_t vocabulary);

}  // namespace hearth
