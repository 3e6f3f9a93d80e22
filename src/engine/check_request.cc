#include "engine/check_request.h"

#include "base/error.h"
#include "engine/generation.h"

namespace hearth {

namespace {

void check_prompt_logprobs(const Request& request, const Engine& engine) {
  if (!request.prompt_logprobs) return;
  if (request.wants_rows()) {
    fail_field(ErrorCode::kRequest, "prompt_logprobs",
               "cannot be combined with rows of the prompt: ask for one of them");
  }
  if (engine.options().scored_rows == 0) {
    fail_field(ErrorCode::kRequest, "prompt_logprobs",
               "asks for log-probabilities of the prompt, and the engine was loaded without memory "
               "for them: load it with scored_rows");
  }
  const uint64_t each = uint64_t{request.top_logprobs} + 1, count = request.prompt.size() * each;
  if (count > kMaxPromptLogprobs) {
    fail_field(ErrorCode::kRequest, "prompt_logprobs",
               "asks for {} log-probabilities ({} for each of the prompt's {} tokens), and the "
               "limit is {}: shorten the prompt or ask for fewer",
               count, each, request.prompt.size(), kMaxPromptLogprobs);
  }
}

}  // namespace

void check_request(const Request& request, const Engine& engine, const Tokenizer* tokenizer,
                   const ResultStream& stream) {
  const bool rows = request.wants_rows();
  // Token ids must be below this. For generated text these are the ids that may be sampled, since
  // penalties and biases use tokens to look up logits. For wanted rows it is the whole vocabulary.
  uint32_t vocabulary =
      rows ? engine.spec().hyper.vocabulary : generation_limits(engine, tokenizer).vocabulary;
  if (request.prompt.empty()) {
    fail_field(ErrorCode::kRequest, "prompt", "is empty: give at least one token");
  }
  if (request.prompt.size() > engine.context()) {
    fail_field(
        ErrorCode::kRequest, "context",
        "of {} tokens is too short for the prompt of {} tokens: raise it or shorten the prompt",
        engine.context(), request.prompt.size());
  }
  for (int32_t token : request.prompt) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary) {
      fail_field(ErrorCode::kRequest, "prompt", "has token {}; the vocabulary has 0 to {}", token,
                 vocabulary - 1);
    }
  }
  if (rows && request.rows_from >= request.prompt.size()) {
    fail_field(ErrorCode::kRequest, "rows_from",
               "is position {}, and the prompt has only {} tokens: give a lower one",
               request.rows_from, request.prompt.size());
  }
  if (request.deliver == Deliver::kHidden && engine.options().hidden_rows == 0) {
    fail_field(ErrorCode::kRequest, "deliver",
               "asks for hidden states, and the engine was loaded without memory for them: load it "
               "with hidden_rows");
  }
  if (request.choices == 0)
    fail_field(ErrorCode::kRequest, "choices", "is 0; it must be at least 1");
  if (request.deliver != Deliver::kText && request.choices != 1) {
    fail_field(ErrorCode::kRequest, "choices",
               "is {}; it must be 1 where only the prompt is computed", request.choices);
  }
  check_prompt_logprobs(request, engine);
  const uint32_t results = request.choices + (request.prompt_logprobs ? 1 : 0);
  if (results > stream.capacity()) {
    fail_field(
        ErrorCode::kRequest, "choices",
        "is {}, and the result stream holds only {} results: make it hold at least {}, better {}",
        request.choices, stream.capacity(), results, result_room(request.choices));
  }
  check_sampling(request.sampling, vocabulary);
  for (const std::string& stop : request.stops) {
    if (stop.empty()) fail_field(ErrorCode::kRequest, "stops", "has an empty text: leave it out");
  }
}

}  // namespace hearth
