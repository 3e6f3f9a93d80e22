// One connection: reads requests, hands them over, writes their answers, in order. Everything here
// happens on the reactor's thread. It always waits for bytes, and for the socket to take more where
// the client is slower than the answer. Between requests a connection keeps no buffers: it reads
// into one that all share. Where memory runs out for it, it ends and the others go on: no
// coroutines, which Asio cannot even end without memory.
//
// A client that sends no more may still read (it closed half of the connection), or be gone with
// the whole connection. TCP tells the same of both, until something is written: who is gone answers
// that by a reset. So where a client closes its side while it waits for an answer, the server soon
// writes what means nothing to one that reads: a comment in a stream, else "100 Continue", which
// every client of HTTP/1.1 skips (RFC 9110, 15.2); and again from time to time. HTTP/1.0 has
// no such thing, so there only the bytes of the answer tell. Behind more requests than are read
// ahead (pipeline_bytes) the close is seen where the kernel has room for all that the client sent.
//
// A client may let its answer wait for write_seconds in all per write_bytes that it takes: time in
// which nothing waits for it does not count, and a byte now and then does not help.
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

  // Lives until its client or the server ends it.
  static void start(HttpShared& shared, Socket socket, std::string peer);
  HttpConnection(HttpShared& shared, Socket socket, std::string peer);
  ~HttpConnection() override;

  void answer_ready() override;
  // Reads what has come, a bufferful at most, and says whether there was any: it may be a request.
  bool read_waiting() noexcept;
  // Closes at once; answers under way learn that their client is gone. Needs no memory.
  void close() noexcept;

 private:
  enum class Phase { kReading, kAnswering, kLingering, kClosed };
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;

  // Does it. Where it throws, as for want of memory, the connection ends. All that the reactor
  // calls is guarded.
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
  Clock::time_point since_;  // the phase's start, or that of a part of it
  boost::asio::steady_timer timer_, resume_;
  Clock::time_point armed_ = Clock::time_point::max();

  HttpReader reader_;
  std::string unread_;  // behind the request that is being answered
  bool pumping_ = false;
  bool ended_ = false;        // all that the client sends was read
  bool half_closed_ = false;  // it sends no more; some of it may be unread
  bool probed_ = false;       // something was written since, to see whether it is gone
  uint64_t lingered_ = 0;

  AnsweredRequest answered_;
  bool counted_ = false;  // among the exchanges
  std::shared_ptr<ExchangeState> state_;
  // An answer in parts: of events, between which comments may stand, or of a body.
  bool streaming_ = false, of_events_ = false;
  bool answer_complete_ = false;

  std::string out_;
  size_t out_sent_ = 0;
  size_t event_bytes_ = 0;  // of out_, as unsent() counts them
  bool writing_ = false;    // the reactor tells when the socket takes more
  // Bytes that the client took since it last had `write_bytes`, and how long it let bytes wait
  // before the wait that is under way.
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
