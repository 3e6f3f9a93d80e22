// POST /models/load and /models/unload: {"model": "NAME"} -> {"success": true}, at once; the list
// of models tells when it is done.
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
  // `set` null: all that is served, `fixed`, stays.
  ModelOrder(Answers& answers, std::shared_ptr<Exchange> exchange, ModelSet* set,
             std::vector<std::string> fixed, uint32_t depth)
      : Answer(answers, std::move(exchange), nullptr),
        set_(set),
        fixed_(std::move(fixed)),
        depth_(depth) {}

 private:
  void begin() override;
  // Throws RequestError.
  void order(const std::string& name) const;

  ModelSet* const set_;
  const std::vector<std::string> fixed_;
  const uint32_t depth_;
};

}  // namespace hearth
