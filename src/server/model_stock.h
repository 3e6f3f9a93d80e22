// ModelStock: the models on a server's disk, which clients may pull and remove.
#pragma once

#include <atomic>
#include <string>

namespace hearth {

struct PullListener;

class ModelStock {
 public:
  virtual ~ModelStock() = default;

  // Fetches a model from a hub; clients may use the model from then on. Blocks until the model is
  // there; one thread at a time may call this. Returns false if `stop` was set before that; the
  // data fetched so far is kept. Throws Error.
  virtual bool pull(const std::string& name, const std::atomic<bool>& stop,
                    const PullListener& listener) = 0;
  // Removes a model from the disk; it is no longer served. Throws Error, or RequestError where
  // there is no such model or it may not be removed.
  virtual void remove(const std::string& name) = 0;
};

}  // namespace hearth
