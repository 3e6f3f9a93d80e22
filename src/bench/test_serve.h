// Makes requests for tests of a served load.
#pragma once

#include "bench/serve_answer.h"

namespace hearth {

// Returns a completed request that was due at 0. `ttft` and `tpot` are in seconds.
inline ServedRequest served(double ttft, double tpot, uint32_t output_tokens) {
  ServedRequest request;
  request.asked = {10, output_tokens};
  request.first = ttft;
  request.end = ttft + tpot * (output_tokens - 1);
  request.prompt_tokens = 10;
  request.output_tokens = output_tokens;
  request.counted_by_server = true;
  return request;
}

}  // namespace hearth
