#include "embed/endpoint_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "embed/endpoint_reply.h"

namespace hearth {
namespace {

constexpr uint64_t kReplyBase = 1u << 20;
// The most bytes of an element in a reply: a sign, 17 digits, an exponent, a comma, white space.
constexpr uint64_t kElementBytes = 64;
constexpr uint64_t kWidest = 1u << 16;

// Returns the header lines of every request, with the key from the environment if it is named.
std::vector<std::string> header_lines(const EndpointOptions& options) {
  std::vector<std::string> lines = {"Content-Type: application/json"};
  if (options.key_variable.empty()) return lines;
  const char* key = std::getenv(options.key_variable.c_str());
  if (key == nullptr || *key == '\0') {
    fail(ErrorCode::kUsage,
         "the environment variable {} is not set: set it to the endpoint's API key",
         options.key_variable);
  }
  for (const char* c = key; *c != '\0'; ++c) {
    if (*c <= ' ' || *c > '~') {
      fail(ErrorCode::kUsage,
           "the API key in the environment variable {} has characters other than visible ASCII: "
           "correct it",
           options.key_variable);
    }
  }
  lines.push_back(fmt::format("Authorization: Bearer {}", key));
  return lines;
}

}  // namespace

std::string endpoint_body(std::span<const EmbedQuery* const> batch,
                          const EndpointOptions& options) {
  Json json;
  json.object().key("model").text(options.model).key("encoding_format");
  json.text(options.base64 ? "base64" : "float").key("input").array();
  for (const EmbedQuery* query : batch) {
    if (!query->text.empty() || query->tokens.empty()) {
      json.text(query->text);
      continue;
    }
    json.array();
    for (int32_t token : query->tokens) json.integer(token);
    json.end_array();
  }
  json.end_array().end_object();
  std::string body = json.line();
  body.pop_back();
  return body;
}

EndpointDevice::EndpointDevice(std::string name, DeviceKind kind, const EndpointOptions& options)
    : name_(std::move(name)),
      kind_(kind),
      options_(options),
      header_(header_lines(options_)),
      client_({options_.timeout, options_.connect_timeout}, abandoned_) {
  if (options_.model.empty()) {
    try {
      ClientReply reply = client_.ask({options_.base + "/models", header_}, kReplyBase);
      if (reply.status != 200) refuse(reply.status, reply.body);
      options_.model = read_first_model(reply.body);
    } catch (const Error& error) {
      fail(error.code(), "{}: {}; name its model with model=NAME", name_, error.what());
    }
  }
  EmbedQuery query{"hearth", {}};
  const EmbedQuery* batch[] = {&query};
  width_ = static_cast<uint32_t>(run(batch)[0].size());
}

void EndpointDevice::refuse(unsigned status, const std::string& body) const {
  ErrorCode code = ErrorCode::kResource;
  if (status == 400 || status == 413 || status == 422) code = ErrorCode::kRequest;
  if (status == 429 || status == 503) code = ErrorCode::kBusy;
  std::string said = refusal_text(body);
  fail(code, "it answered with status {}{}{}", status, said.empty() ? "" : ": ", said);
}

std::vector<EmbedVector> EndpointDevice::embed(std::string body, size_t count) {
  uint64_t elements = count * (width_ > 0 ? width_ : kWidest);
  ClientReply reply = client_.ask({options_.base + "/embeddings", header_, std::move(body)},
                                  kReplyBase + elements * kElementBytes);
  if (reply.status != 200) refuse(reply.status, reply.body);
  return read_embeddings(reply.body, count, width_);
}

std::vector<EmbedVector> EndpointDevice::run(std::span<const EmbedQuery* const> batch) {
  try {
    std::string body = endpoint_body(batch, options_);
    if (body.size() > kMaxRequestBytes) {
      fail(ErrorCode::kRequest,
           "a request of {} bytes is larger than the limit of {}: shorten the texts", body.size(),
           kMaxRequestBytes);
    }
    return embed(std::move(body), batch.size());
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", name_, error.what());
  }
}

}  // namespace hearth
