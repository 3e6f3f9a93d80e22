// ModelStock: the models on a server's machine, as far as its clients may change them.
#pragma once

#include <atomic>
#include <string>

namespace hearth {

struct PullListener;

class ModelStock {
 public:
  virtual ~ModelStock() = default;

  // Gets a model of a hub, which is served from then on. Takes as long as the network does; by one
  // thread at a time. False where `stop` was set before the end; what came is kept. Throws Error.
  virtual bool pull(const std::string& name, const std::atomic<bool>& stop,
                    const PullListener& listener) = 0;
  // Removes a model from the disk; it is served no more. Throws Error, or RequestError where no
  // model has the name or it may not go.
  virtual void remove(const std::string& name) = 0;
};

}  // namespace hearth
