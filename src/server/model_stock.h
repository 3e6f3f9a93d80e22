// ModelStock: the models on a server's disk, which clients may pull and remove.
#pragma once

#include <atomic>
#include <string>

namespace hearth {

struct PullListener;

class ModelStock {
 public:
  virtual ~ModelStock() = default;

  // Fetches a model from a hub, which is served from then on. Blocks until it is done; one thread
  // at a time may call it. Returns false where `stop` was set before; the data fetched is kept.
  // Throws Error.
  virtual bool pull(const std::string& name, const std::atomic<bool>& stop,
                    const PullListener& listener) = 0;
  // Removes a model from the disk; it is no longer served. Throws Error, or RequestError where
  // there is no such model or it may not be removed.
  virtual void remove(const std::string& name) = 0;
};

}  // namespace hearth
