// Exchange: one request and its answer. Any thread may call its functions, which do nothing once
// the client is gone. An Exchange that is destroyed without an answer answers 500 or, within its
// events, an error event and the end. HEAD gets the same head without a body. Where memory is
// short, functions throw std::bad_alloc; a caller that cannot handle it calls fall_short(), which
// needs no memory.
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
  // Returns the body. Its memory counts towards `all_body_bytes` as long as its lease lives. The
  // lease is moved to `lease`; if that is null, it ends at once. May be called once.
  std::string take_body(BodyLease* lease = nullptr);

  // Sends the whole answer. May be called once, and not together with events or a body in pieces.
  void reply(HttpReply reply);

  // Begins a stream of events: 200 text/event-stream, chunked (in HTTP/1.0 up to the connection's
  // end), with a comment after `silence_seconds` without an event. May be called once; then any
  // number of send(), and end(). If the request's dialect is kLines, an event is a JSON object on a
  // line, and a space replaces the comment.
  void begin_events(HttpFields fields = {});
  // Whether begin_events() was called.
  bool events_begun() const;
  void send(std::string bytes);  // "data: {...}\n\n" or "{...}\n", one or several
  void end();

  // Begins a body in pieces whose length is not known yet: 200, chunked (in HTTP/1.0 up to the
  // connection's end). May be called once; then any number of send(), and end().
  void begin_body(std::string content_type, HttpFields fields = {});
  // Cuts the connection within a body in pieces, so that the client does not take it for complete.
  // Destroying the Exchange before end() does the same.
  void break_off();

  // Counts `bytes`, the memory that the answer takes while it is made, towards `all_reply_bytes`
  // until the answer is written or the client is gone. Returns false, and counts nothing, if the
  // budget has no room; there is always room for an answer's first 16 KiB. reply() also counts its
  // body, and send() the unsent bytes.
  bool hold(uint64_t bytes);
  // Whether the budget of replies is used up.
  bool replies_full() const;

  // Ends an answer that cannot go on for lack of memory. The client gets 503 no_memory or, within
  // events, an error event and the end. If neither is possible, or a body was begun, the connection
  // is cut. The function given to on_gone() is called. Does nothing where the answer is complete.
  // Needs no memory.
  void fall_short() noexcept;
  // Whether fall_short() ended the answer. The function given to on_gone() uses this to tell why it
  // is called.
  bool fell_short() const;

  // Returns the bytes of events that the client has not taken yet.
  size_t unsent() const;
  // Sets a function that is called once if the client leaves or stalls before it got the whole
  // answer, or if fall_short() ends the answer; at once if that has already happened. The reactor's
  // thread calls it or, after the server's end, the thread that calls on_gone(). The function is
  // destroyed once the answer is written or the client gone, so it may hold this Exchange.
  void on_gone(std::function<void()> call);
  // Sets a function that the reactor's thread calls each time that unsent() has fallen to 0 after a
  // send().
  void on_drained(std::function<void()> call);

 private:
  std::shared_ptr<ExchangeState> state_;
};

}  // namespace hearth
