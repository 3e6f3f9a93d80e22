// The part of HttpConnection that depends on the clock: time limits and their errors.
#include <algorithm>
#include <string_view>

#include "http/connection.h"

namespace hearth {
namespace {

// Time before the first probe of a half-closed client; short answers are complete by then.
constexpr std::chrono::milliseconds kProbeAfter(250);

std::chrono::nanoseconds duration(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, 1e8) * 1e9));
}

}  // namespace

HttpConnection::Clock::time_point HttpConnection::deadline() const {
  const HttpOptions& options = shared_.options;
  switch (phase_) {
    case Phase::kReading:
      switch (reader_.stage()) {
        case HttpReader::Stage::kStart:
          return since_ + duration(options.idle_seconds);
        case HttpReader::Stage::kHead:
          return since_ + duration(options.header_seconds);
        default:
          return since_ + duration(options.body_seconds);
      }
    case Phase::kAnswering:
      if (writing_) return since_ + duration(options.write_seconds) - waited_;
      if (half_closed_ && !probed_ && can_probe()) return since_ + kProbeAfter;
      if (of_events_ || (half_closed_ && can_probe())) {
        return since_ + duration(options.silence_seconds);
      }
      return Clock::time_point::max();
    case Phase::kLingering:
      return since_ + duration(options.linger_seconds);
    default:
      return Clock::time_point::max();
  }
}

// Sets the timer for the next deadline, but only where it would fire too late: where it fires too
// early, on_timer() sets it again.
void HttpConnection::arm() {
  if (phase_ == Phase::kClosed) return;
  Clock::time_point due = deadline();
  if (due >= armed_) return;
  armed_ = due;
  timer_.expires_at(due);
  timer_.async_wait([self = shared_from_this()](Error error) {
    if (!error) self->guarded([&] { self->on_timer(); });
  });
}

bool HttpConnection::can_probe() const { return streaming_ ? of_events_ : answered_.minor == 1; }

// Writes bytes that a client ignores. A stream that answers HEAD gets none, as it has no body. In
// the dialect kLines the byte is a space: JSON takes any number of spaces before an object.
void HttpConnection::write_nothing() {
  const bool lines = answered_.dialect == HttpDialect::kLines;
  const std::string_view silence = lines ? " " : ": silence\n\n";
  if (!streaming_) {
    out_ += kHttpContinue;
  } else if (!answered_.head_only) {
    answered_.minor == 1 ? append_chunk(out_, silence) : void(out_ += silence);
  }
  flush();
}

void HttpConnection::on_timer() {
  armed_ = Clock::time_point::max();
  if (phase_ == Phase::kClosed) return;
  if (Clock::now() < deadline()) return arm();
  if (phase_ == Phase::kAnswering && !writing_) {
    since_ = Clock::now();
    probed_ = half_closed_;
    write_nothing();
  } else if (phase_ == Phase::kAnswering) {
    return cut();
  } else if (phase_ == Phase::kReading && reader_.stage() != HttpReader::Stage::kStart) {
    refuse(http_error(408, "request_timeout", "The request took too long to arrive."));
  } else {
    return close();
  }
  arm();
}

}  // namespace hearth
