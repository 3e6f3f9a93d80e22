// A ModelWait is a request that names a model, until that model is loaded: then another answer
// takes over, which holds a lease on the model until its end.
//
//   begin() -> read(), the worker -> ask() -> take(), when the model is there
//
// A stream begins after kQuietSeconds of waiting, so that proxies see comments on it; an error is
// then its last event.
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

// AskedModel: the fields of a request's body that concern its model, on any route.
struct AskedModel {
  std::string name;
  std::optional<double> keep_seconds;  // `keep_alive` or `ttl`; below 0: never unload
  bool streams = false;
  bool lets_go = false;  // ollama's `keep_alive` is 0 and there is no prompt: unload
};
// Reads those fields. Throws RequestError where the body is no JSON object or `model` is no string;
// other errors are left to the route's own reader.
AskedModel read_asked_model(std::string_view body, uint32_t depth, HttpDialect dialect);

// Returns a Go duration ("5m", "1h30m", "-1s") in seconds; nothing where the text is none.
std::optional<double> read_duration(std::string_view text);

class ModelWait final : public Answer {
 public:
  static constexpr double kQuietSeconds = 10;

  // Makes the answer that takes over once the model is there.
  using Make = std::function<std::shared_ptr<Answer>(const std::shared_ptr<Exchange>& exchange,
                                                     const ServedModels& models)>;
  struct Choice {
    ModelSet& set;
    const ServedModels& fixed;  // always loaded, beside the set
    std::optional<ModelKind> kind = {};
    uint32_t depth = 0;       // how deep the body's JSON may nest
    bool may_stream = false;  // whether the route's answers may be streams
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
