// HubHttp asks a hub for bytes. Redirects are followed by hand: the token goes to the hub's own
// host and to no other, https never leads to http, and there is an end to them. Every request has
// a Range and asks for no compression, without which hubs refuse large files or send something else
// than the file. One object, one thread; its connections stay open between requests.
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
  unsigned status = 0;                        // 0: none came
  std::map<std::string, std::string> fields;  // by lower-case name
  std::string url;                            // that answered, after redirects
  std::string text;       // the body's beginning where it was no 2xx or nobody took it
  std::string problem;    // why the reply did not come whole; empty: it did
  bool hopeless = false;  // another try would end the same

  bool whole() const { return problem.empty() && status >= 200 && status < 300; }
  // Whether the same request may go well later.
  bool may_pass() const;
  // Returns the text of a field; empty where it is not there.
  std::string field(const std::string& name) const;
  // "answers 503", or what went wrong.
  std::string problem_text() const;
};

// Bytes of a file; none for the end means up to it.
struct HubRange {
  uint64_t begin = 0;
  std::optional<uint64_t> end = {};  // behind the last byte
};

// Takes a piece of the body of a 2xx reply, of which the head is there; false ends the request.
using HubSink = std::function<bool(const HubReply& head, std::span<const std::byte> bytes)>;

class HubHttp {
 public:
  // A request ends within a second once `stop` is set. One whose bytes come at less than a KiB a
  // second for `stall` seconds is given up.
  HubHttp(const StorePlaces& places, uint32_t stall, const std::atomic<bool>& stop)
      : places_(places), stall_(stall), stop_(stop) {}

  HubReply get(const std::string& url, const HubRange& range, const HubSink& sink);
  // A reply's whole text. Errors (kFile): one of more than `most` bytes.
  HubReply get_text(const std::string& url, size_t most);

 private:
  HubReply ask_once(const std::string& url, const HubRange& range, const HubSink& sink);

  const StorePlaces& places_;
  uint32_t stall_;
  const std::atomic<bool>& stop_;
  CurlHandle handle_;
};

// "https://host:443" of an address, in lower case, as libcurl reads it; empty where it is none.
std::string origin_of(const std::string& url);

}  // namespace hearth
