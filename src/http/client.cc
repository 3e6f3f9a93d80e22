#include "http/client.h"

#include "base/error.h"

namespace hearth {
namespace {

struct BodySink {
  std::string* body;
  uint64_t most;
  bool full = false, no_memory = false;
};

size_t take_bytes(char* bytes, size_t size, size_t count, void* target) {
  BodySink& sink = *static_cast<BodySink*>(target);
  if (sink.body->size() + size * count > sink.most) {
    sink.full = true;
    return CURL_WRITEFUNC_ERROR;
  }
  try {
    sink.body->append(bytes, size * count);
  } catch (const std::bad_alloc&) {
    // No exception may pass through libcurl.
    sink.no_memory = true;
    return CURL_WRITEFUNC_ERROR;
  }
  return size * count;
}

// libcurl's progress callback, called about once a second: a value other than 0 ends the request.
int is_abandoned(void* flag, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<std::atomic<bool>*>(flag) ? 1 : 0;
}

}  // namespace

ClientReply HttpClient::ask(const ClientRequest& request, uint64_t most) {
  ClientReply reply;
  BodySink sink{&reply.body, most};
  handle_.prepare(request);
  handle_.set(CURLOPT_WRITEFUNCTION, take_bytes);
  handle_.set(CURLOPT_WRITEDATA, &sink);
  handle_.set(CURLOPT_NOPROGRESS, 0L);
  handle_.set(CURLOPT_XFERINFOFUNCTION, is_abandoned);
  handle_.set(CURLOPT_XFERINFODATA, &abandoned_);
  handle_.set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout * 1e3));
  handle_.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout * 1e3));
  if (is_this_machine(request.url)) handle_.set(CURLOPT_PROXY, "");
  CURLcode code = curl_easy_perform(handle_.get());
  if (sink.no_memory || code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (sink.full) fail(ErrorCode::kResource, "the reply is longer than {} bytes", most);
  if (code == CURLE_OPERATION_TIMEDOUT) {
    fail(ErrorCode::kResource, "the server did not reply in time: {}", handle_.problem(code));
  }
  if (code != CURLE_OK)
    fail(ErrorCode::kResource, "the server did not reply: {}", handle_.problem(code));
  reply.status = handle_.status();
  return reply;
}

}  // namespace hearth
