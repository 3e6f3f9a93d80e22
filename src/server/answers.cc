#include "server/answers.h"

#include <vector>

#include "server/answer.h"

namespace hearth {

Answers::~Answers() {
  // The server outlives the answers and may still call their on_gone().
  for (const auto& answer : under_way_) answer->forget();
}

void Answers::start(const std::shared_ptr<Answer>& answer) {
  // This comes first, so that any failure from here on ends the answer.
  answer->exchange_->on_gone([answer] { answer->leave(); });
  if (answer->ended_) return;
  under_way_.insert(answer);
  answer->guarded([&] { answer->begin(); });
}

void Answers::fail_all(const ApiError& error) {
  // The loop needs a copy, since each answer that ends leaves the set.
  std::vector<std::shared_ptr<Answer>> all(under_way_.begin(), under_way_.end());
  for (const auto& answer : all) answer->fail(error);
}

}  // namespace hearth
