// Checks a request before anything is done for it.
#pragma once

#include "engine/engine.h"
#include "engine/request.h"
#include "engine/result_stream.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Throws (kRequest, kUsage), naming the field, where the engine cannot serve the request, whatever
// else it does; also where `stream` has no room for a result of each choice. `tokenizer` may be
// null (GenerationLimits).
void check_request(const Request& request, const Engine& engine, const Tokenizer* tokenizer,
                   const ResultStream& stream);

}  // namespace hearth
