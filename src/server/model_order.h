// Handles POST /models/load and /models/unload: {"model": "NAME"} -> {"success": true}, at once.
// The list of models shows when the work is done.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/answer.h"
#include "server/model_set.h"

namespace hearth {

class ModelOrder final : public Answer {
 public:
  // `set`: null where the server has no set of models. `fixed`: names of models that always stay
  // loaded.
  ModelOrder(Answers& answers, std::shared_ptr<Exchange> exchange, ModelSet* set,
             std::vector<std::string> fixed, uint32_t depth)
      : Answer(answers, std::move(exchange), nullptr),
        set_(set),
        fixed_(std::move(fixed)),
        depth_(depth) {}

 private:
  void begin() override;
  // Gives the order to load or unload. Throws RequestError.
  void order(const std::string& name) const;

  ModelSet* const set_;
  const std::vector<std::string> fixed_;
  const uint32_t depth_;
};

}  // namespace hearth
