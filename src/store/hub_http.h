// HubHttp sends requests to a hub. It follows redirects itself: the token goes only to the hub's
// own host, https never leads to http, and the number of redirects is limited. Every request has a
// Range and asks for no compression; otherwise hubs refuse large files or send something other than
// the file's bytes. For one thread; connections stay open between requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "http/curl_handle.h"
#include "store/places.h"

namespace hearth {

struct HubReply {
  unsigned status = 0;                        // 0: no reply came
  std::map<std::string, std::string> fields;  // by lower-case name
  std::string url;                            // the address that answered, after redirects
  std::string text;                           // the body's beginning, unless the sink got it
  std::string problem;                        // why the reply is incomplete; empty: it is complete
  bool hopeless = false;                      // another try would fail, too

  bool whole() const { return problem.empty() && status >= 200 && status < 300; }
  // Whether the same request may succeed later.
  bool may_pass() const;
  // Returns the value of a field; empty where it is missing.
  std::string field(const std::string& name) const;
  // Returns the failure for a message: "answers 503", or `problem`.
  std::string problem_text() const;
};

// A range of a file's bytes; without `end`, up to the file's end.
struct HubRange {
  uint64_t begin = 0;
  std::optional<uint64_t> end = {};  // after the last byte
};

// Takes a piece of the body of a 2xx reply, whose head is complete. Returns false to end the
// request.
using HubSink = std::function<bool(const HubReply& head, std::span<const std::byte> bytes)>;

class HubHttp {
 public:
  // A request ends within a second once `stop` is set. A request that receives less than a KiB a
  // second for `stall` seconds is given up.
  HubHttp(const StorePlaces& places, uint32_t stall, const std::atomic<bool>& stop)
      : places_(places), stall_(stall), stop_(stop) {}

  HubReply get(const std::string& url, const HubRange& range, const HubSink& sink);
  // Returns a reply with its whole body in `text`. Errors (kFile): a body of more than `most`
  // bytes.
  HubReply get_text(const std::string& url, size_t most);

 private:
  HubReply ask_once(const std::string& url, const HubRange& range, const HubSink& sink);

  const StorePlaces& places_;
  uint32_t stall_;
  const std::atomic<bool>& stop_;
  CurlHandle handle_;
};

// Returns the origin of a URL as libcurl reads it, in lower case: "https://host:443"; empty where
// it is no URL.
std::string origin_of(const std::string& url);

}  // namespace hearth
