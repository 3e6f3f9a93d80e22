#include "embed/endpoint_device.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "embed/endpoint_reply.h"

namespace hearth {
namespace {

constexpr uint64_t kReplyBase = 1u << 20;
// A number as text, with a sign, 17 digits, an exponent and a comma, and white space beside it.
constexpr uint64_t kElementBytes = 64;
constexpr uint64_t kWidest = 1u << 16;

struct Reply {
  long status = 0;
  std::string body;
};

struct Sink {
  std::string* body;
  uint64_t most;
  bool full = false, no_memory = false;
};

size_t take_bytes(char* bytes, size_t size, size_t count, void* target) {
  Sink& sink = *static_cast<Sink*>(target);
  if (sink.body->size() + size * count > sink.most) {
    sink.full = true;
    return CURL_WRITEFUNC_ERROR;
  }
  try {
    sink.body->append(bytes, size * count);
  } catch (const std::bad_alloc&) {
    // Nothing may be thrown through libcurl.
    sink.no_memory = true;
    return CURL_WRITEFUNC_ERROR;
  }
  return size * count;
}

// Ends the request where it says other than 0; asked about once a second.
int abandoned(void* flag, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<std::atomic<bool>*>(flag) ? 1 : 0;
}

bool on_this_machine(const std::string& url) {
  for (const char* host : {"://127.", "://localhost", "://[::1]"}) {
    if (url.find(host) != std::string::npos) return true;
  }
  return false;
}

// The header that shows the key of the environment; empty where none is asked for.
std::string authorization(const EndpointOptions& options) {
  if (options.key_variable.empty()) return {};
  const char* key = std::getenv(options.key_variable.c_str());
  if (key == nullptr || *key == '\0') {
    fail(ErrorCode::kUsage, "the environment has no {}, which should hold the endpoint's key",
         options.key_variable);
  }
  for (const char* c = key; *c != '\0'; ++c) {
    if (*c <= ' ' || *c > '~') {
      fail(ErrorCode::kUsage, "the key in {} has other than visible ASCII", options.key_variable);
    }
  }
  return fmt::format("Authorization: Bearer {}", key);
}

}  // namespace

// One handle of libcurl, which keeps a connection open between requests.
class EndpointDevice::Connection {
 public:
  Connection(const EndpointOptions& options, std::atomic<bool>& abandon)
      : options_(options), abandon_(abandon) {
    std::string key = authorization(options);
    // Counts its users, and any thread may call it.
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
      fail(ErrorCode::kResource, "libcurl does not start: {}", curl_easy_strerror(code));
    }
    try {
      handle_ = curl_easy_init();
      if (handle_ == nullptr) throw std::bad_alloc();
      add_header("Content-Type: application/json");
      // libcurl would ask first whether a long body may come.
      add_header("Expect:");
      if (!key.empty()) add_header(key);
    } catch (...) {
      close();
      throw;
    }
  }
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Posts `body`, or gets where there is none.
  Reply ask(const std::string& path, const std::string* body, uint64_t most) {
    Reply reply;
    Sink sink{&reply.body, most};
    char said[CURL_ERROR_SIZE] = "";
    std::string url = options_.base + path;
    curl_easy_reset(handle_);
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_ERRORBUFFER, said);
    set(CURLOPT_WRITEFUNCTION, take_bytes);
    set(CURLOPT_WRITEDATA, &sink);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, abandoned);
    set(CURLOPT_XFERINFODATA, &abandon_);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout * 1e3));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout * 1e3));
    if (on_this_machine(options_.base)) set(CURLOPT_PROXY, "");
    if (body != nullptr) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
      set(CURLOPT_POSTFIELDS, body->data());
    }
    CURLcode code = curl_easy_perform(handle_);
    if (sink.no_memory || code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    if (sink.full) fail(ErrorCode::kResource, "the reply is longer than {} bytes", most);
    if (code == CURLE_OPERATION_TIMEDOUT) {
      fail(ErrorCode::kResource, "no reply in time: {}", *said ? said : curl_easy_strerror(code));
    }
    if (code != CURLE_OK) {
      fail(ErrorCode::kResource, "no reply: {}", *said ? said : curl_easy_strerror(code));
    }
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &reply.status);
    return reply;
  }

 private:
  template <typename T>
  void set(CURLoption option, T value) {
    CURLcode code = curl_easy_setopt(handle_, option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    HEARTH_CHECK(code == CURLE_OK, "libcurl knows the option");
  }

  void add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers_ = longer;
  }

  void close() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(handle_);
    curl_global_cleanup();
  }

  const EndpointOptions& options_;
  std::atomic<bool>& abandon_;
  CURL* handle_ = nullptr;
  curl_slist* headers_ = nullptr;
};

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
      connection_(std::make_unique<Connection>(options_, abandoned_)) {
  if (options_.model.empty()) {
    try {
      Reply reply = connection_->ask("/models", nullptr, kReplyBase);
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

EndpointDevice::~EndpointDevice() = default;

void EndpointDevice::refuse(long status, const std::string& body) const {
  ErrorCode code = ErrorCode::kResource;
  if (status == 400 || status == 413 || status == 422) code = ErrorCode::kRequest;
  if (status == 429 || status == 503) code = ErrorCode::kBusy;
  std::string said = refusal_text(body);
  fail(code, "it answers with status {}{}{}", status, said.empty() ? "" : ": ", said);
}

std::vector<EmbedVector> EndpointDevice::embed(const std::string& body, size_t count) {
  uint64_t elements = count * (width_ > 0 ? width_ : kWidest);
  Reply reply = connection_->ask("/embeddings", &body, kReplyBase + elements * kElementBytes);
  if (reply.status != 200) refuse(reply.status, reply.body);
  return read_embeddings(reply.body, count, width_);
}

std::vector<EmbedVector> EndpointDevice::run(std::span<const EmbedQuery* const> batch) {
  try {
    std::string body = endpoint_body(batch, options_);
    if (body.size() > kMostRequestBytes) {
      fail(ErrorCode::kRequest, "a request of {} bytes is larger than {}", body.size(),
           kMostRequestBytes);
    }
    return embed(body, batch.size());
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", name_, error.what());
  }
}

}  // namespace hearth
