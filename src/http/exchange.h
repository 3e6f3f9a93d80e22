// One request and its answer. Every member function may be called from any thread, and nothing
// happens where the client is gone. Where an Exchange dies unanswered, the client gets 500; where
// it dies in the middle of its events, an event with an error, and the end. HEAD gets the same head
// without the body. Where memory is short the functions throw std::bad_alloc; who cannot answer for
// that calls fall_short(), which needs none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/request.h"

namespace hearth {

class BodyLease;
class ExchangeState;

class Exchange {
 public:
  explicit Exchange(std::shared_ptr<ExchangeState> state);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const;
  // The body, which counts towards `all_body_bytes` for as long as its lease lives: that goes to
  // `lease`, or else ends at once. By one thread, once.
  std::string take_body(BodyLease* lease = nullptr);

  // The whole answer; once, and no events.
  void reply(HttpReply reply);

  // 200 text/event-stream, chunked (for HTTP/1.0 up to the connection's end), with a comment where
  // there was no event for `silence_seconds`. Once; then any number of send(), and end(). Where the
  // request's dialect is kLines, an event is an object on a line, and a space stands for a comment.
  void begin_events(HttpFields fields = {});
  // Whether begin_events() was called.
  bool events_begun() const;
  void send(std::string bytes);  // "data: {...}\n\n" or "{...}\n", one or several
  void end();

  // The answer's body piece by piece, where nobody knows its length yet: 200, chunked (for HTTP/1.0
  // up to the connection's end). Once; then any number of send(), and end().
  void begin_body(std::string content_type, HttpFields fields = {});
  // Ends the connection in the middle of that body, so that nobody takes it for whole; dying does
  // the same.
  void break_off();

  // Counts so many bytes more that the answer takes, while it is made and until it was written or
  // the client is gone, towards `all_reply_bytes`. Returns false, and counts none, where they are
  // too many; the first few KiB are never too many. Of what was not counted before, reply() counts
  // the body, and send() what waits for the client.
  bool hold(uint64_t bytes);
  // Whether no reply may take more now.
  bool replies_full() const;

  // There is no memory for the rest of the answer: the client gets 503 no_memory, in the middle of
  // its events an event with that error and the end, or, where that cannot be either or a body was
  // begun, the end of its connection. The function given to on_gone() is called. Nothing where the
  // answer is complete. Needs no memory.
  void fall_short() noexcept;
  // Whether it did; on_gone's function asks.
  bool fell_short() const;

  // Bytes of events that wait for the client.
  size_t unsent() const;
  // Once, where the client left or stalled before it was given the whole answer, or the exchange
  // fell short; at once where that has happened. By the reactor's thread (by the caller's after the
  // server's death). What it holds is let go when the answer was written or the client is gone, so
  // it may hold this Exchange.
  void on_gone(std::function<void()> call);
  // Sets a call for each time that unsent() fell to 0 after a send; the reactor's thread makes it.
  void on_drained(std::function<void()> call);

 private:
  std::shared_ptr<ExchangeState> state_;
};

}  // namespace hearth
