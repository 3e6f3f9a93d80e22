// Engines over the tiny model, and the result that one of them gives to a request alone. The result
// is computed by hand with Engine, Sampler and whole rows of logits, without the scheduler, so that
// tests of scheduling can compare with it.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "engine/engine.h"
#include "engine/request.h"
#include "tiny_model.h"

namespace hearth {

// A shape small enough for thousands of schedules, with KV heads for two shards.
constexpr TinyShape kTiniest{.width = 32, .heads = 2, .kv_heads = 2, .head_dim = 16, .ffn = 32};

// Makes an engine at the best ISA level, on as many invented nodes as there are shards. `file` must
// outlive it.
std::unique_ptr<Engine> tiny_engine(const ModelSource& file, const EngineOptions& options);

struct TokenAlone {
  int32_t token;
  double logprob;  // 0 where not asked for
  std::vector<std::pair<int32_t, double>> top_logprobs;
};

struct Alone {
  // The results of Deliver::kText, by choice.
  struct Choice {
    std::vector<TokenAlone> tokens;
    Finish finish = Finish::kFailed;
  };
  std::vector<Choice> choices;
  // The results of prompt_logprobs, from position 1 on.
  std::vector<TokenScore> scores;
  // The results of the other kinds, from position rows_from on.
  std::vector<std::vector<float>> rows;
};

// The engine needs room for only one sequence, and `outputs` and `hidden_rows` for one row. There
// is no tokenizer: only max_tokens and the context end a text.
Alone get_alone(Engine& engine, const Request& request);

std::vector<int32_t> random_tokens(std::mt19937& random, size_t count, uint32_t vocabulary);

}  // namespace hearth
