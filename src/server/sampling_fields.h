// Readers of the fields of a completion that are more than a number: stop strings, biases, prompts.
// All throw RequestError naming the entry that is at fault ("stop[3]").
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/completion_request.h"

namespace hearth {

// A string, or an array of at most `most`, none empty or above `bytes`.
std::vector<std::string> stop_fields(const boost::json::value& value, const std::string& param,
                                     size_t most, size_t bytes);

// An object of at most `most` ids with numbers from -100 to 100. -100 becomes -inf: it forbids the
// token whatever its logit.
std::vector<std::pair<int32_t, float>> bias_fields(const boost::json::value& value,
                                                   const std::string& param, size_t most,
                                                   uint32_t vocabulary);

// Ids of tokens, maybe none.
std::vector<int32_t> ids_field(const boost::json::array& array, const std::string& param,
                               uint32_t vocabulary);

// A string, an array of ids, or an array of at most `most` of these.
std::vector<Prompt> prompt_fields(const boost::json::value& value, const std::string& param,
                                  size_t most, uint32_t vocabulary);

}  // namespace hearth
