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
  // Takes one off the disk, which is served no more. Throws Error, RequestError where the name is
  // none, or the model may not go.
  virtual void remove(const std::string& name) = 0;
};

}  // namespace hearth
