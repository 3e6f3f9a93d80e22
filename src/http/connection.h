// One connection: it reads requests, hands them to the server's handler, and writes their answers
// in order, all on the reactor's thread. It always waits for bytes, and, if the client is slower
// than the answer, for the socket to take more. Between requests it has no buffers: it reads into
// one buffer that all connections share. If memory runs out for it, it ends and the others go on.
// It uses no coroutines, since without memory Asio cannot even end a coroutine.
//
// A client that has closed its side of the connection may still read (half-closed), or be gone
// altogether. TCP does not show which until something is written: a client that is gone answers
// that by a reset. So if a client closes its side while it waits for an answer, the server soon
// writes bytes that a reader ignores, and again from time to time: a comment in a stream, else "100
// Continue", which every HTTP/1.1 client skips (RFC 9110, 15.2). HTTP/1.0 has no such bytes, so
// there only writing the answer's own bytes shows whether the client is gone. If the client has
// sent more requests ahead than are read (pipeline_bytes), its close is seen only if the kernel has
// room for all that it sent.
//
// A client may let bytes of its answer wait for write_seconds in total for each write_bytes that it
// takes. Time in which nothing waits does not count, and taking a byte now and then does not help.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "http/connection_table.h"
#include "http/exchange_state.h"
#include "http/reader.h"
#include "http/reply.h"
#include "http/shared.h"

namespace hearth {

class HttpConnection : public AnswerSink, public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // Starts a connection, which keeps itself alive until its client or the server ends it.
  static void start(HttpShared& shared, Socket socket, std::string peer);
  HttpConnection(HttpShared& shared, Socket socket, std::string peer);
  ~HttpConnection() override;

  void answer_ready() override;
  // Reads the bytes that have come, at most a bufferful, and returns whether there were any: they
  // may be a request.
  bool read_waiting() noexcept;
  // Closes at once; answers under way are notified that their client is gone. Needs no memory.
  void close() noexcept;

 private:
  enum class Phase { kReading, kAnswering, kLingering, kClosed };
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;

  // Runs `work`; an exception, such as for lack of memory, ends the connection. All calls from the
  // reactor go through this.
  template <typename Work>
  void guarded(Work work) noexcept;

  // Reading.
  void read();
  void pause();
  void look_at_client();
  void read_once();
  void on_bytes(std::string_view bytes);
  void on_end();
  void on_half_closed();
  void pump(std::string_view fresh);
  void on_stage(bool more_bytes);
  void on_head(bool more_bytes);
  void settle_dialect();
  void hand_over();
  void count(bool under_way);
  void set_idle(bool idle);

  // Answering.
  void begin_answer(bool keep_alive);
  void answer(const HttpReply& reply, bool keep_alive);
  void append_reply(HttpReply reply);
  void refuse(const ApiError& error);
  void format(ExchangeState::Output output);
  void end_answer();
  void linger();

  // Writing.
  void flush();
  bool write_some();
  void write();
  void go_on_writing();
  void note_progress(size_t bytes);
  void on_written();

  // Time.
  Clock::time_point deadline() const;
  void arm();
  void on_timer();
  void cut();
  bool can_probe() const;
  void write_nothing();

  HttpShared& shared_;
  Socket socket_;
  std::string peer_, client_;
  ConnectionTable<HttpConnection>::Place place_;
  Phase phase_ = Phase::kReading;
  Clock::time_point since_;  // when the current phase, or step of it, began
  boost::asio::steady_timer timer_, resume_;
  Clock::time_point armed_ = Clock::time_point::max();

  HttpReader reader_;
  std::string unread_;  // bytes after the request being answered
  bool pumping_ = false;
  bool ended_ = false;        // the client's end was read
  bool half_closed_ = false;  // the client closed its side; bytes of it may be unread
  bool probed_ = false;       // a probe was written since, to see whether the client is gone
  uint64_t lingered_ = 0;

  AnsweredRequest answered_;
  bool counted_ = false;  // counted in HttpShared::exchanges
  std::shared_ptr<ExchangeState> state_;
  // The answer under way comes in parts: events, between which comments may stand, or a body.
  bool streaming_ = false, of_events_ = false;
  bool answer_complete_ = false;

  std::string out_;
  size_t out_sent_ = 0;
  size_t event_bytes_ = 0;  // bytes of events in out_, as unsent() counts them
  bool writing_ = false;    // waiting for the socket to take more
  // The bytes that the client took since it last completed `write_bytes`, and the time for which it
  // let bytes wait since then, without the wait under way.
  uint64_t taken_ = 0;
  std::chrono::nanoseconds waited_{0};
};

template <typename Work>
void HttpConnection::guarded(Work work) noexcept {
  try {
    work();
  } catch (const std::exception& thrown) {
    shared_.trouble(thrown);
    close();
  }
}

}  // namespace hearth
