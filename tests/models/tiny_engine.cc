#include "tiny_engine.h"

#include <algorithm>

#include "engine/logits.h"

namespace hearth {
namespace {

std::unique_ptr<Sequence> sequence_of(Engine& engine, const Request& request) {
  const auto prompt = static_cast<uint32_t>(request.prompt.size());
  return engine.new_sequence(request.first_turn == 0 ? prompt : request.first_turn);
}

Alone::Choice continue_alone(Engine& engine, const Request& request, uint32_t choice) {
  SamplingParams params = request.sampling;
  params.seed += choice;
  Sampler sampler(params);
  for (int32_t token : request.prompt) sampler.accept_prompt(token);
  auto sequence = sequence_of(engine, request);
  engine.prefill(*sequence, request.prompt);
  Alone::Choice got;
  for (;;) {
    std::span<const float> logits = engine.logits(0);
    TokenAlone next{sampler.sample(logits).value(), 0, {}};
    if (request.logprobs || request.top_logprobs > 0) {
      double norm = log_sum_exp(logits);
      next.logprob = logits[static_cast<size_t>(next.token)] - norm;
      next.top_logprobs = top_logprobs(logits, norm, request.top_logprobs);
    }
    int32_t token = next.token;
    sampler.accept(token);
    got.tokens.push_back(std::move(next));
    if (got.tokens.size() == request.max_tokens) {
      got.finish = Finish::kLength;
      return got;
    }
    if (sequence->length() == engine.context()) {
      got.finish = Finish::kContext;
      return got;
    }
    engine.prefill(*sequence, {&token, 1});
  }
}

std::vector<std::vector<float>> rows_alone(Engine& engine, const Request& request) {
  std::vector<std::vector<float>> rows;
  auto sequence = sequence_of(engine, request);
  bool hidden = request.deliver == Deliver::kHidden;
  for (const int32_t& token : request.prompt) {
    StepRequest one{sequence.get(), {&token, 1}, hidden ? Want::kHidden : Want::kAll};
    engine.step({&one, 1});
    std::span<const float> row = hidden ? engine.hidden(0) : engine.logits(0);
    if (sequence->length() > request.rows_from) rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<TokenScore> scores_alone(Engine& engine, const Request& request) {
  auto sequence = sequence_of(engine, request);
  std::vector<TokenScore> scores;
  for (size_t i = 0; i + 1 < request.prompt.size(); ++i) {
    StepRequest one{sequence.get(), {&request.prompt[i], 1}, Want::kAll};
    engine.step({&one, 1});
    const std::span<const float> logits = engine.logits(0);
    const double norm = log_sum_exp(logits);
    scores.push_back({logits[static_cast<size_t>(request.prompt[i + 1])] - norm,
                      top_logprobs(logits, norm, request.top_logprobs)});
  }
  return scores;
}

}  // namespace

std::unique_ptr<Engine> tiny_engine(const ModelSource& file, const EngineOptions& options) {
  Isa isa = available_isas(detect_cpu_features()).back();
  uint32_t shards = std::max(1u, options.shards);
  uint32_t cores = std::max(1u, options.threads / shards);
  return std::make_unique<Engine>(file, make_spec(file), Machine::invented(shards, cores), isa,
                                  options);
}

Alone get_alone(Engine& engine, const Request& request) {
  Alone alone;
  if (request.wants_rows()) {
    alone.rows = rows_alone(engine, request);
    return alone;
  }
  if (request.prompt_logprobs) alone.scores = scores_alone(engine, request);
  if (request.deliver == Deliver::kPrompt) return alone;
  for (uint32_t choice = 0; choice < request.choices; ++choice) {
    alone.choices.push_back(continue_alone(engine, request, choice));
  }
  return alone;
}

std::vector<int32_t> random_tokens(std::mt19937& random, size_t count, uint32_t vocabulary) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % vocabulary);
  return tokens;
}

}  // namespace hearth
