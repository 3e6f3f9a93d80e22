// A ModelWait is a request that names its model, until that model is there: then another answer
// takes over, which holds the model until its end.
//
//   begin() -> read(), the worker -> ask() -> take(), when the model is there
//
// A stream that waits kQuietSeconds begins then, so that proxies see comments, and an error is its
// last event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/answer.h"
#include "server/model_set.h"

namespace hearth {

// The part of a request's body that concerns its model, on any route.
struct AskedModel {
  std::string name;
  std::optional<double> keep_seconds;  // `keep_alive` or `ttl`; below 0: for good
  bool streams = false;
  bool lets_go = false;  // of ollama's: `keep_alive` is 0, and nothing else is asked
};
// Throws RequestError: it is no JSON, or names no model by a text. What else is wrong with it, its
// route says.
AskedModel read_asked_model(std::string_view body, uint32_t depth, HttpDialect dialect);

// "5m", "1h30m", "-1s": Go's durations in seconds; none where it is no duration.
std::optional<double> read_duration(std::string_view text);

class ModelWait final : public Answer {
 public:
  static constexpr double kQuietSeconds = 10;

  // The answer that takes over, with the model that was wanted.
  using Make = std::function<std::shared_ptr<Answer>(const std::shared_ptr<Exchange>& exchange,
                                                     const ServedModels& models)>;
  struct Choice {
    ModelSet& set;
    const ServedModels& fixed;  // always there, beside the set
    std::optional<ModelKind> kind = {};
    uint32_t depth = 0;       // of the body
    bool may_stream = false;  // as the route's answers do
  };
  ModelWait(Answers& answers, const std::shared_ptr<Exchange>& exchange, RequestMetrics* metrics,
            const Choice& choice, Make make);

 private:
  void begin() override;
  void let_go() noexcept override;
  void forget() noexcept override;
  void ask(const AskedModel& asked);
  bool asks_fixed(const std::string& name) const;
  void take(const std::shared_ptr<const ModelLease>& lease);
  void begin_events();
  void let_model_go(const AskedModel& asked);

  const std::shared_ptr<Exchange> shared_;
  const Choice choice_;
  const Make make_;
  uint64_t ticket_ = 0;
};

}  // namespace hearth
