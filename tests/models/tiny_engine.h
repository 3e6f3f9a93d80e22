// Engines over the tiny model, and what a request gets from one of them alone: computed by hand
// with Engine, Sampler and the logits' figures, from whole rows of logits and without the
// scheduler, so that tests of scheduling have something to compare with.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "engine/engine.h"
#include "engine/request.h"
#include "tiny_model.h"

namespace hearth {

// Small enough for thousands of schedules; KV heads for two shards.
constexpr TinyShape kTiniest{.width = 32, .heads = 2, .kv_heads = 2, .head_dim = 16, .ffn = 32};

// The best ISA level, on as many invented nodes as there are shards. `file` must outlive it.
std::unique_ptr<Engine> tiny_engine(const ModelSource& file, const EngineOptions& options);

struct TokenAlone {
  int32_t token;
  double logprob;  // 0 where it is not asked for
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

// The engine needs no more than room for one sequence, and `outputs` and `hidden_rows` for one row.
// Without a tokenizer: nothing but max_tokens and the context ends a text.
Alone get_alone(Engine& engine, const Request& request);

std::vector<int32_t> random_tokens(std::mt19937& random, size_t count, uint32_t vocabulary);

}  // namespace hearth
