#include "engine/check_request.h"

#include "base/error.h"
#include "engine/generation.h"

namespace hearth {

void check_request(const Request& request, const Engine& engine, const Tokenizer* tokenizer,
                   const ResultStream& stream) {
  bool rows = request.deliver != Deliver::kText;
  // Penalties and bias look up the logits of tokens that may be sampled.
  uint32_t vocabulary =
      rows ? engine.spec().hyper.vocabulary : generation_limits(engine, tokenizer).vocabulary;
  if (request.prompt.empty()) {
    fail_field(ErrorCode::kRequest, "prompt", "is empty: give it a token");
  }
  if (request.prompt.size() > engine.context()) {
    fail_field(ErrorCode::kRequest, "context",
               "of {} positions does not hold the prompt's {} tokens: raise it or shorten the "
               "prompt",
               engine.context(), request.prompt.size());
  }
  for (int32_t token : request.prompt) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary) {
      fail_field(ErrorCode::kRequest, "prompt", "has token {}; the vocabulary has 0 to {}", token,
                 vocabulary - 1);
    }
  }
  if (rows && request.rows_from >= request.prompt.size()) {
    fail_field(ErrorCode::kRequest, "rows_from", "is position {} and the prompt has {} tokens",
               request.rows_from, request.prompt.size());
  }
  if (request.deliver == Deliver::kHidden && engine.options().hidden_rows == 0) {
    fail_field(ErrorCode::kRequest, "deliver",
               "asks for hidden states, and the engine was loaded without room for them: load it "
               "with hidden_rows");
  }
  if (request.choices == 0) fail_field(ErrorCode::kRequest, "choices", "is 0; ask for 1 at least");
  if (rows && request.choices != 1) {
    fail_field(ErrorCode::kRequest, "choices", "is {}; rows of a prompt come once",
               request.choices);
  }
  if (request.choices > stream.capacity()) {
    fail_field(ErrorCode::kRequest, "choices",
               "is {}, and the stream has room for {} results: it needs {}, better {}",
               request.choices, stream.capacity(), request.choices, result_room(request.choices));
  }
  check_sampling(request.sampling, vocabulary);
  for (const std::string& stop : request.stops) {
    if (stop.empty()) fail_field(ErrorCode::kRequest, "stops", "has a text that is empty");
  }
}

}  // namespace hearth
