// Checks a request before any work is done for it.
#pragma once

#include "engine/engine.h"
#include "engine/request.h"
#include "engine/result_stream.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Throws Error (kRequest, kUsage), naming the field, if the engine can never serve the request, or
// if `stream` has no room for a result of each choice. `tokenizer` may be null (GenerationLimits).
void check_request(const Request& request, const Engine& engine, const Tokenizer* tokenizer,
                   const ResultStream& stream);

}  // namespace hearth
