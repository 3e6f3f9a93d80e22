// A server elsewhere that embeds, over OpenAI's interface: POST BASE/embeddings. A GPU or NPU
// server with that interface counts as an accelerator in the queues. It is called through libcurl,
// over TLS if the address says https; certificates are checked, redirects not followed. The limit
// on a reply's bytes is what vectors of the known width can take.
//
// Errors name the device. kRequest: the endpoint says that a text is at fault (400, 413, 422), or
// the texts are more than a request may hold; kBusy: 429 and 503; kResource: it cannot be reached,
// is too slow, or replies something else. kUsage: the variable of the key is not set.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "embed/device.h"
#include "embed/endpoint_options.h"
#include "http/client.h"

namespace hearth {

inline constexpr uint64_t kMaxRequestBytes = 64u << 20;

class EndpointDevice : public EmbedDevice {
 public:
  // Asks the endpoint for a model, if none is named, and for a vector, to know its width.
  EndpointDevice(std::string name, DeviceKind kind, const EndpointOptions& options);

  const std::string& name() const override { return name_; }
  DeviceKind kind() const override { return kind_; }
  uint32_t width() const override { return width_; }
  bool remote() const override { return true; }
  const std::string& model() const { return options_.model; }
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override;
  void abandon() override { abandoned_ = true; }

 private:
  std::vector<EmbedVector> embed(std::string body, size_t count);
  [[noreturn]] void refuse(unsigned status, const std::string& body) const;

  std::string name_;
  DeviceKind kind_;
  EndpointOptions options_;
  uint32_t width_ = 0;
  std::atomic<bool> abandoned_{false};
  std::vector<std::string> header_;
  HttpClient client_;
};

// Returns the body of a request: texts, or lists of ids for queries without a text.
std::string endpoint_body(std::span<const EmbedQuery* const> batch, const EndpointOptions& options);

}  // namespace hearth
