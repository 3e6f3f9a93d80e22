#include "server/answer.h"

#include <utility>

#include "base/clock.h"
#include "server/exception_error.h"
#include "server/reply_pieces.h"
#include "server/route_error.h"

namespace hearth {
namespace {

// KeptBody: the body of a reply together with an object that was chosen for its answer, such as a
// model. It keeps that object alive, since an Answer may end before its body is written.
class KeptBody final : public BodySource {
 public:
  KeptBody(std::unique_ptr<BodySource> body, std::shared_ptr<const void> chosen)
      : chosen_(std::move(chosen)), body_(std::move(body)) {}
  bool next(std::string* body) override { return body_->next(body); }

 private:
  const std::shared_ptr<const void> chosen_;
  const std::unique_ptr<BodySource> body_;
};

}  // namespace

Answer::Answer(Answers& all, std::shared_ptr<Exchange> exchange, RequestMetrics* metrics)
    : all_(all), exchange_(std::move(exchange)), metrics_(metrics) {}

void Answer::on_worker(Step step, uint64_t body_bytes) {
  auto work = [self = shared_from_this(), step = std::move(step)] {
    if (self->ended_) return;
    try {
      step();
    } catch (const std::exception& thrown) {
      auto later = [&](const ApiError& error) {
        self->all_.server_.post([self, error] { self->fail(error); });
      };
      answer_failure(thrown, *self->exchange_, later);
    }
  };
  all_.worker_.post(std::move(work), exchange_, body_bytes);
}

void Answer::on_reactor(Step step) {
  all_.server_.post([self = shared_from_this(), step = std::move(step)] { self->guarded(step); });
}

void Answer::later(double seconds, Step step) {
  all_.server_.after(seconds,
                     [self = shared_from_this(), step = std::move(step)] { self->guarded(step); });
}

void Answer::pass_on(const std::shared_ptr<Answer>& next) {
  const auto self = shared_from_this();
  ended_ = true;
  all_.under_way_.erase(self);
  all_.start(next);
}

void Answer::guarded(const Step& step) noexcept {
  // If memory ran out, the answer may have stopped in the midst of a step, so no further step may
  // run.
  if (ended_ || exchange_->fell_short()) return;
  try {
    step();
  } catch (const std::exception& thrown) {
    answer_failure(thrown, *exchange_, [&](const ApiError& error) { fail(error); });
  }
}

void Answer::reply_with(std::unique_ptr<BodySource> source, Outcome outcome, HttpFields fields) {
  if (chosen_) source = std::make_unique<KeptBody>(std::move(source), chosen_);
  auto reply =
      std::make_shared<PiecedReply>(exchange_, all_.worker_, std::move(source), std::move(fields));
  reply->make();
  on_reactor([this, reply, outcome] {
    reply->hand_over();
    end(outcome, 200, "");
  });
}

Pace Answer::pace() { return all_.worker_.pace(ended_); }

void Answer::send_error(const ApiError& error) {
  answer_error(*exchange_, route_error(exchange_->request(), error));
}

void Answer::fail(const ApiError& error) noexcept {
  if (ended_) return;
  try {
    send_error(error);
  } catch (const std::exception&) {
    return exchange_->fall_short();
  }
  end(outcome_of_error(error.status), error.status, error.code);
}

void Answer::leave() noexcept {
  if (ended_) return;
  if (!exchange_->fell_short()) return end(Outcome::kCancelled, kClientClosedRequest, "");
  const ApiError& error = shortage_words().error;
  end(outcome_of_error(error.status), error.status, error.code);
}

void Answer::end(Outcome outcome, unsigned status, std::string_view finish) noexcept {
  auto self = shared_from_this();
  ended_ = true;
  let_go();
  double seconds = steady_seconds() - exchange_->request().received_seconds;
  if (metrics_ != nullptr) metrics_->count(outcome, seconds);
  all_.under_way_.erase(self);
  try {
    log_end(outcome, status, finish);
  } catch (const std::exception&) {
    // Logging failed, but the answer has ended.
  }
}

void Answer::log_end(Outcome outcome, unsigned status, std::string_view finish) {
  LogEntry entry = log_entry(exchange_->request(), status);
  entry.finish = finish.empty() ? outcome_name(outcome) : finish;
  note(&entry);
  all_.log_.write(entry);
}

}  // namespace hearth
