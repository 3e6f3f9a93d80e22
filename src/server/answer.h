// An Answer is one request on its way to its end, whatever its route: the life that all of them
// have. What a route does stands in a class of its own, made of steps that take turns on two
// threads:
//
//   begin(), the reactor -> on_worker(...) -> on_reactor(...) -> ...
//                        -> end() or reply_with(), fail() or leave(): one of these, once
//
// A step that throws ends the request with what it threw; where memory runs out, wherever that is,
// the exchange falls short, which ends in leave(). However it ends, what it holds is given back,
// the end is counted and a line logged. All that is not said to be another thread's happens on the
// reactor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/pace.h"
#include "http/api_error.h"
#include "http/exchange.h"
#include "server/answers.h"
#include "server/body_source.h"
#include "server/request_log.h"
#include "server/request_metrics.h"

namespace hearth {

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  // `metrics` counts how it ends; null: nobody does. Both outlive it.
  Answer(Answers& all, std::shared_ptr<Exchange> exchange, RequestMetrics* metrics);
  virtual ~Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // Ends it with this error.
  void fail(const ApiError& error) noexcept;
  // Holds what was chosen for it, as a model, until nothing of it is left; before it starts.
  void keep(std::shared_ptr<const void> chosen) { chosen_ = std::move(chosen); }
  // Returns the name under which the client shares the server with others.
  const std::string& client() const { return exchange_->request().client; }

 protected:
  using Step = std::function<void()>;

  // The first step of the answer.
  virtual void begin() = 0;
  // Tells the client of an error; in the form of a whole reply where the route does not say else.
  virtual void tell(const ApiError& error);
  // Cancels what is under way for the answer, which has ended, and gives back its places.
  virtual void let_go() noexcept {}
  // Adds to the line of the log.
  virtual void note(LogEntry*) const {}
  // Ends an answer that nobody is left to tell about.
  virtual void forget() noexcept { ended_ = true; }

  // Both do nothing where the request has ended. The worker's step reads a body of so many bytes.
  void on_worker(Step step, uint64_t body_bytes = 0);
  void on_reactor(Step step);
  // Does a step at once, by the reactor.
  void guarded(const Step& step) noexcept;
  // The last step of the worker: makes the body of a whole reply, which may be large, piece by
  // piece. `fields`: of its header.
  void reply_with(std::unique_ptr<BodySource> source, Outcome outcome, HttpFields fields = {});
  // The answer was given. `finish` is what the log says; empty: the outcome.
  void end(Outcome outcome, unsigned status, std::string_view finish) noexcept;

  // Does a step after so many seconds.
  void later(double seconds, Step step);
  // Passes the exchange on to another answer: this one is over, and nobody counts it.
  void pass_on(const std::shared_ptr<Answer>& next);

  // Whether somebody chose what it works with by what it asks for.
  bool was_chosen_for() const { return chosen_ != nullptr; }
  // Whether anybody waits for it no more; any thread may ask.
  bool ended() const { return ended_; }
  // Returns the pace at which the worker does this answer's tasks.
  Pace pace();
  Exchange& exchange() const { return *exchange_; }

 private:
  friend class Answers;

  // The client is gone, or there was no memory for its answer.
  void leave() noexcept;
  void log_end(Outcome outcome, unsigned status, std::string_view finish);

  Answers& all_;
  const std::shared_ptr<Exchange> exchange_;
  RequestMetrics* const metrics_;
  std::shared_ptr<const void> chosen_;
  std::atomic<bool> ended_{false};
};

}  // namespace hearth
