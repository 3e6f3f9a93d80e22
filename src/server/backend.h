// Backend: the part of an engine that the server uses. Tests put their own in its place.
#pragma once

#include <memory>

#include "engine/job_handle.h"
#include "engine/service.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Tokenizer& tokenizer() const = 0;
  virtual uint32_t context() const = 0;
  virtual const Statistics& statistics() const = 0;
  // Whether the engine makes use of Request::first_turn, so that it is worth computing.
  virtual bool asks_first_turn() const { return false; }
  // Submits a request as Service::submit() does.
  [[nodiscard]] virtual JobHandle submit(Request request, std::shared_ptr<ResultStream> stream) = 0;
};

class ServiceBackend : public Backend {
 public:
  // The service and the tokenizer outlive this.
  ServiceBackend(Service& service, const Tokenizer& tokenizer)
      : service_(service), tokenizer_(tokenizer) {}

  const Tokenizer& tokenizer() const override { return tokenizer_; }
  uint32_t context() const override { return service_.engine().context(); }
  const Statistics& statistics() const override { return service_.statistics(); }
  bool asks_first_turn() const override { return service_.engine().spec().has_latents(); }
  JobHandle submit(Request request, std::shared_ptr<ResultStream> stream) override {
    return service_.submit(std::move(request), std::move(stream));
  }

 private:
  Service& service_;
  const Tokenizer& tokenizer_;
};

}  // namespace hearth
