// The client's side of HTTP/1.1 (RFC 9112), as far as a benchmark of servers needs it: requests of
// one connection each, replies as they come in pieces, and the events of a stream in their bodies
// (text/event-stream as the HTML standard has it). Nothing here touches a socket.
//
// A reply that is no HTTP is the server's doing and no error of ours: problem() says what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct ServeUrl {
  std::string host, port;  // as a resolver takes them; an IPv6 address without its brackets
  std::string authority;   // as the field Host says it
  std::string base;        // "" or "/prefix": what comes before the paths
};

// Takes "http://HOST[:PORT][/PREFIX]"; a prefix that ends in /v1 counts without that. Errors
// (kUsage): anything else, https too.
ServeUrl parse_serve_url(const std::string& url);

// Returns the bytes of a request that closes its connection. `path` begins with "/v1/...". An empty
// `key` sends none; without a body it is a GET.
std::string http_request(const ServeUrl& url, std::string_view path, std::string_view key,
                         const std::optional<std::string>& body);

// One reply, in pieces of any size. 1xx replies before it are skipped.
class HttpReplyReader {
 public:
  // Appends what of `bytes` is body to `body`. Bytes behind the end of the reply are ignored.
  void take(std::string_view bytes, std::string* body);
  // The server has closed the connection.
  void close();

  // 0: not known yet.
  unsigned status() const { return status_; }
  bool is_event_stream() const { return events_; }
  // Whether the reply is complete.
  bool done() const { return state_ == State::kDone; }
  // What is wrong with it; from then on nothing is taken. Empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  enum class State : uint8_t {
    kHead,
    kLength,     // body of a known length
    kRest,       // body up to the close
    kChunkSize,  // a line
    kChunk,
    kChunkEnd,  // the line end behind a chunk
    kTrailer,   // lines up to an empty one
    kDone,
    kBroken,
  };

  // Take one line, without its end.
  void take_line(std::string_view line);
  void take_head_line(std::string_view line);
  void take_field(std::string_view line);
  void end_head();
  void take_chunk_size(std::string_view line);
  // Returns how many of the bytes it has used.
  size_t take_body(std::string_view bytes, std::string* body);
  void break_off(std::string problem);

  State state_ = State::kHead;
  std::string line_;       // the part of a line that has come
  size_t head_bytes_ = 0;  // of the head, or of trailers
  uint64_t left_ = 0;      // bytes of body or chunk
  unsigned status_ = 0;
  std::optional<uint64_t> length_;
  bool first_line_ = true, chunked_ = false, events_ = false;
  std::string problem_;
};

// The events of a stream. Comments and fields other than `data` are skipped.
class EventReader {
 public:
  // Appends the data of every event that has become complete.
  void take(std::string_view bytes, std::vector<std::string>* events);
  // Whether bytes of an event are there that is not complete.
  bool amid() const { return has_data_ || !line_.empty(); }

 private:
  void take_line(std::string_view line, std::vector<std::string>* events);

  std::string line_, data_;
  bool has_data_ = false, after_return_ = false;
};

}  // namespace hearth
