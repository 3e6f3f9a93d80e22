#include "http/connection.h"

#include <netinet/tcp.h>
#include <poll.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <exception>
#include <new>
#include <utility>

#include "base/clock.h"
#include "http/client_address.h"

namespace hearth {
namespace {

namespace asio = boost::asio;

// Bytes that the kernel buffers beyond those in flight. By default it would buffer megabytes, and
// the server would notice only after many seconds that a client has stopped reading.
using NotSentBytes = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
constexpr int kNotSentBytes = 128 << 10;
// Bytes that a client may still send after the last answer.
constexpr uint64_t kLingerBytes = 64 << 20;
constexpr std::chrono::milliseconds kPauseCheck(200);

ApiError failure() {
  return http_error(500, "internal_error", "The server failed to answer this request.");
}

}  // namespace

void HttpConnection::start(HttpShared& shared, Socket socket, std::string peer) {
  auto connection = std::make_shared<HttpConnection>(shared, std::move(socket), std::move(peer));
  connection->guarded([&] {
    connection->arm();
    connection->read();
  });
}

HttpConnection::HttpConnection(HttpShared& shared, Socket socket, std::string peer)
    : shared_(shared),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      client_(client_of_address(peer_)),
      since_(Clock::now()),
      timer_(shared.context),
      resume_(shared.context),
      reader_(shared.options, shared.bodies) {
  Error ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(NotSentBytes(kNotSentBytes), ignored);
  place_ = shared_.table.open(client_, this);
  ++shared_.connections;
}

HttpConnection::~HttpConnection() { close(); }

void HttpConnection::close() noexcept {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  Error ignored;
  socket_.close(ignored);
  timer_.cancel();
  resume_.cancel();
  unread_ = {};
  reader_.reset();
  shared_.table.close(place_);
  --shared_.connections;
  count(false);
  if (auto state = std::exchange(state_, nullptr)) state->set_gone();
  shared_.on_room();
}

// Resets the connection: bytes that the kernel still buffers for the client are dropped. This is
// for a client that reads nothing, or that must not take an incomplete body for complete.
void HttpConnection::cut() {
  Error ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

// Waits for bytes and reads them, over and over until the connection closes.
void HttpConnection::read() {
  if (phase_ == Phase::kClosed) return;
  bool full = unread_.size() >= shared_.options.pipeline_bytes;
  if (ended_ || (phase_ == Phase::kAnswering && full)) return pause();
  socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this()](Error error) {
    if (error || self->phase_ == Phase::kClosed) return;
    self->guarded([&] {
      self->read_once();
      self->read();
    });
  });
}

void HttpConnection::pause() {
  resume_.expires_after(kPauseCheck);
  resume_.async_wait([self = shared_from_this()](Error) {
    self->guarded([&] {
      self->look_at_client();
      self->read();
    });
  });
}

// Called while reading pauses. Then only the socket's state shows that the client left: it closed
// its side, or answered bytes that were written since by a reset.
void HttpConnection::look_at_client() {
  if (phase_ != Phase::kAnswering) return;
  pollfd look{socket_.native_handle(), POLLRDHUP, 0};
  if (::poll(&look, 1, 0) <= 0) return;
  if ((look.revents & (POLLERR | POLLHUP)) != 0) return close();
  on_half_closed();
}

void HttpConnection::read_once() {
  Error error;
  auto buffer = asio::buffer(shared_.read_buffer);
  size_t bytes = socket_.read_some(buffer, error);
  if (error == asio::error::would_block || error == asio::error::try_again) return;
  if (error == asio::error::eof) return on_end();
  if (error) return close();
  on_bytes({shared_.read_buffer.data(), bytes});
}

bool HttpConnection::read_waiting() noexcept {
  Error error;
  if (socket_.available(error) == 0 || error) return false;
  auto self = shared_from_this();  // this call may close the connection
  guarded([this] { read_once(); });
  return true;
}

void HttpConnection::on_bytes(std::string_view bytes) {
  if (phase_ == Phase::kLingering) {
    lingered_ += bytes.size();
    if (lingered_ > kLingerBytes) close();
    return;
  }
  if (phase_ == Phase::kAnswering) {
    unread_.append(bytes);
    return;
  }
  pump(bytes);
  arm();
}

void HttpConnection::on_end() {
  ended_ = true;
  if (phase_ == Phase::kAnswering) return on_half_closed();
  if (phase_ == Phase::kReading && reader_.stage() != HttpReader::Stage::kStart) {
    return refuse(
        http_error(400, "incomplete_request", "The request ended before it was complete."));
  }
  close();
}

void HttpConnection::on_half_closed() {
  if (std::exchange(half_closed_, true)) return;
  if (!writing_) since_ = Clock::now();
  arm();
}

void HttpConnection::pump(std::string_view fresh) {
  if (pumping_) return;  // the loop below is running already and goes on
  pumping_ = true;
  std::string kept = std::exchange(unread_, {});
  if (!kept.empty()) kept.append(fresh);
  std::string_view rest = kept.empty() ? fresh : kept;
  while (phase_ == Phase::kReading && !rest.empty()) {
    bool first = reader_.stage() == HttpReader::Stage::kStart;
    rest.remove_prefix(reader_.take(rest));
    if (first) since_ = Clock::now();
    on_stage(!rest.empty());
  }
  pumping_ = false;
  if (phase_ == Phase::kReading && ended_) return on_end();
  if (phase_ != Phase::kAnswering || rest.empty()) return;
  if (kept.empty()) {
    unread_ = rest;
  } else {
    kept.erase(0, kept.size() - rest.size());
    unread_ = std::move(kept);
  }
}

void HttpConnection::on_stage(bool more_bytes) {
  using Stage = HttpReader::Stage;
  if (reader_.stage() == Stage::kHeadDone) on_head(more_bytes);
  if (phase_ != Phase::kReading) return;
  if (reader_.stage() == Stage::kDone) return hand_over();
  if (reader_.stage() == Stage::kRefused) refuse(reader_.refusal());
}

void HttpConnection::on_head(bool more_bytes) {
  HttpHead& head = reader_.head();
  set_idle(false);
  since_ = Clock::now();
  head.request.received_seconds = steady_seconds();
  head.request.id = shared_.make_id();
  head.request.peer = peer_;
  head.request.client = client_;
  settle_dialect();
  answered_ = {.id = head.request.id,
               .minor = head.request.minor,
               .head_only = head.request.method == "HEAD",
               .dialect = head.request.dialect};
  std::optional<HttpReply> refused;
  try {
    answered_.fields = shared_.reply_fields(head.request);
    refused = shared_.check(head.request);
  } catch (const std::bad_alloc& thrown) {
    shared_.trouble(thrown);
    refused = shortage_words(head.request.dialect).reply;
  } catch (const std::exception& thrown) {
    shared_.trouble(thrown);
    refused = error_reply(failure(), head.request.dialect);
  }
  if (phase_ == Phase::kClosed) return;  // check() may stop the server
  if (refused) {
    bool keep_alive = head.keep_alive && !head.has_body();
    if (keep_alive) reader_.reset();
    return answer(*refused, keep_alive);
  }
  count(true);
  reader_.begin_body();
  if (reader_.stage() == HttpReader::Stage::kBody && head.expects_continue && !more_bytes) {
    out_ += kHttpContinue;
    flush();
  }
}

// Sets the request's dialect by its path, also where only a part of the path was read.
void HttpConnection::settle_dialect() {
  HttpRequest& request = reader_.head().request;
  const std::string& below = shared_.options.lines_below;
  const bool lines = !below.empty() && request.path.starts_with(below);
  request.dialect = lines ? HttpDialect::kLines : HttpDialect::kEvents;
}

void HttpConnection::hand_over() {
  bool keep_alive = reader_.head().keep_alive;
  BodyLease lease;
  HttpRequest request = reader_.release(lease);
  begin_answer(keep_alive);
  state_ = std::make_shared<ExchangeState>(std::move(request), std::move(lease), shared_.replies,
                                           shared_.mailbox, weak_from_this());
  auto exchange = std::make_shared<Exchange>(state_);
  try {
    shared_.handler(exchange);
  } catch (const std::bad_alloc& thrown) {
    shared_.trouble(thrown);
    exchange->fall_short();
  } catch (const std::exception& thrown) {
    shared_.trouble(thrown);  // the exchange ends unanswered
  }
}

void HttpConnection::count(bool under_way) {
  if (under_way == counted_) return;
  counted_ = under_way;
  under_way ? ++shared_.exchanges : --shared_.exchanges;
}

// Marks the connection as idle or busy: a request is in it from the end of the request's header to
// the end of its answer.
void HttpConnection::set_idle(bool idle) {
  shared_.table.set_idle(place_, idle);
  if (idle && shared_.table.full()) shared_.on_room();
}

void HttpConnection::begin_answer(bool keep_alive) {
  phase_ = Phase::kAnswering;
  set_idle(false);
  since_ = Clock::now();
  answered_.keep_alive = keep_alive && !shared_.draining;
  streaming_ = of_events_ = answer_complete_ = false;
}

// Sends an answer that the connection itself makes.
void HttpConnection::answer(const HttpReply& reply, bool keep_alive) {
  begin_answer(keep_alive);
  out_ += reply_bytes(reply, answered_, shared_.date.now());
  answer_complete_ = true;
  flush();
}

// Sends an error and closes: where the next request would begin is unknown.
void HttpConnection::refuse(const ApiError& error) {
  // No head was read, or only a part of it.
  if (answered_.id.empty()) answered_.id = shared_.make_id();
  HttpRequest& request = reader_.head().request;
  request.id = answered_.id;
  request.peer = peer_;
  if (request.received_seconds == 0) request.received_seconds = steady_seconds();
  settle_dialect();
  shared_.refused(request, error);
  answer(error_reply(error, request.dialect), false);
}

void HttpConnection::answer_ready() {
  guarded([this] {
    if (!state_) return;
    ExchangeState::Output output = state_->take();
    if (output.broken) return cut();  // a plain end would look like the end of an HTTP/1.0 body
    format(std::move(output));
    flush();
    if (phase_ != Phase::kClosed) arm();
  });
}

// Appends a reply. If there is no memory for its bytes, the reply is dropped and the shortage error
// sent instead.
void HttpConnection::append_reply(HttpReply reply) {
  try {
    out_ += reply_bytes(reply, answered_, shared_.date.now());
  } catch (const std::bad_alloc& thrown) {
    shared_.trouble(thrown);
    reply = {};
    out_ += reply_bytes(shortage_words(answered_.dialect).reply, answered_, shared_.date.now());
  }
}

void HttpConnection::format(ExchangeState::Output output) {
  answered_.keep_alive = answered_.keep_alive && !shared_.draining;
  if (output.short_of_memory) {
    const ShortageWords& words = shortage_words(answered_.dialect);
    if (streaming_ || output.events) {
      output.bytes += words.event;
    } else {
      output.reply = words.reply;
    }
  }
  if (output.reply) append_reply(*std::exchange(output.reply, {}));
  if (output.events || output.pieces) {
    streaming_ = true;
    of_events_ = output.events.has_value();
    // Only the connection's end shows where an answer in HTTP/1.0 ends.
    answered_.keep_alive = answered_.keep_alive && answered_.minor == 1;
    const std::string& date = shared_.date.now();
    out_ += of_events_ ? events_head(*output.events, answered_, date)
                       : pieces_head(*output.pieces, answered_, date);
    if (answered_.head_only) output.ended = true;
  }
  bool chunked = streaming_ && answered_.minor == 1;
  if (!output.bytes.empty()) {
    if (!writing_) since_ = Clock::now();  // else `since_` is when the client last took something
    event_bytes_ += output.bytes.size();
    if (!answered_.head_only) {
      if (chunked) {
        append_chunk(out_, output.bytes);
      } else {
        out_ += output.bytes;
      }
    }
  }
  if (!output.ended) return;
  if (chunked && !answered_.head_only) out_ += kLastChunk;
  answer_complete_ = true;
}

void HttpConnection::flush() {
  if (writing_ || phase_ == Phase::kClosed) return;
  if (write_some()) return on_written();
  if (phase_ == Phase::kClosed) return;
  writing_ = true;
  since_ = Clock::now();
  write();
  arm();
}

// Writes as much as the socket takes. Returns whether all is written. May close the connection.
bool HttpConnection::write_some() {
  while (out_sent_ < out_.size()) {
    Error error;
    auto rest = asio::buffer(out_.data() + out_sent_, out_.size() - out_sent_);
    size_t bytes = socket_.write_some(rest, error);
    if (error == asio::error::would_block || error == asio::error::try_again) return false;
    if (error) {
      close();
      return false;
    }
    out_sent_ += bytes;
    note_progress(bytes);
  }
  return true;
}

void HttpConnection::note_progress(size_t bytes) {
  Clock::time_point now = Clock::now();
  if (writing_) waited_ += now - since_;
  since_ = now;
  taken_ += bytes;
  if (taken_ < shared_.options.write_bytes) return;
  taken_ = 0;
  waited_ = {};
}

void HttpConnection::write() {
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](Error error) {
    if (error || self->phase_ == Phase::kClosed) return;
    self->guarded([&] { self->go_on_writing(); });
  });
}

void HttpConnection::go_on_writing() {
  bool all = write_some();
  if (phase_ == Phase::kClosed) return;
  if (!all) return write();
  writing_ = false;
  on_written();
  if (phase_ != Phase::kClosed) arm();
}

void HttpConnection::on_written() {
  out_sent_ = 0;
  if (out_.capacity() > kHttpReadBytes || !streaming_) {
    out_ = {};
  } else {
    out_.clear();
  }
  if (state_) state_->wrote(std::exchange(event_bytes_, 0));
  if (phase_ == Phase::kAnswering && answer_complete_) end_answer();
}

void HttpConnection::end_answer() {
  count(false);
  if (auto state = std::exchange(state_, nullptr)) state->set_written();
  out_ = {};
  streaming_ = false;
  if (!answered_.keep_alive) return ended_ ? close() : linger();
  answered_ = {};
  phase_ = Phase::kReading;
  set_idle(true);
  since_ = Clock::now();
  pump({});
  resume_.cancel();
}

// Waits for the client to close first: closing while the client's bytes are unread would discard
// the answer on its way.
void HttpConnection::linger() {
  phase_ = Phase::kLingering;
  set_idle(true);
  since_ = Clock::now();
  unread_ = {};
  reader_.reset();
  Error error;
  socket_.shutdown(asio::socket_base::shutdown_send, error);
  if (error) return close();
  resume_.cancel();
  arm();
}

}  // namespace hearth
