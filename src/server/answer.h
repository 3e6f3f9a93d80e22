// Answer: the work on a request from its body to its end. This class does the part of the work that
// is the same on all routes. Each route has a class derived from it, whose work is a chain of steps
// on two threads:
//
//   begin(), the reactor -> on_worker(...) -> on_reactor(...) -> ...
//                        -> end() or reply_with(), fail() or leave(): one of these, once
//
// If a step throws, the request ends with the error that it threw. If memory runs out at any place,
// Exchange::fall_short() is called, which leads to leave(). However the answer ends, it gives back
// its places and objects, counts the end and logs a line. All functions run on the reactor's thread
// unless they name another one.
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
  // `metrics` counts how the answer ends; null: nothing counts it. `all` and `metrics` outlive the
  // answer.
  Answer(Answers& all, std::shared_ptr<Exchange> exchange, RequestMetrics* metrics);
  virtual ~Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  // Ends the answer with this error.
  void fail(const ApiError& error) noexcept;
  // Keeps alive an object that was chosen for this answer, such as a model, until the reply is
  // written. It must be called before the answer starts.
  void keep(std::shared_ptr<const void> chosen) { chosen_ = std::move(chosen); }
  // Returns the client's name, by which places and shares of the server are counted.
  const std::string& client() const { return exchange_->request().client; }

 protected:
  using Step = std::function<void()>;

  // The first step of the answer.
  virtual void begin() = 0;
  // Sends an error to the client: a whole reply, unless the route overrides it (for a stream under
  // way, say).
  virtual void send_error(const ApiError& error);
  // Called once the answer has ended: cancels its jobs and gives back its places.
  virtual void let_go() noexcept {}
  // Adds the route's own figures to the request's line in the log.
  virtual void note(LogEntry*) const {}
  // Ends the answer without a reply: the server is being destroyed.
  virtual void forget() noexcept { ended_ = true; }

  // on_worker() and on_reactor() run a step on the thread that they name, and do nothing once the
  // request has ended. `body_bytes`: the size of the body that the worker's step reads.
  void on_worker(Step step, uint64_t body_bytes = 0);
  void on_reactor(Step step);
  // Runs a step at once, on the reactor's thread; an exception ends the answer as its error.
  void guarded(const Step& step) noexcept;
  // The worker's last step: sends a whole reply whose body is made piece by piece, as it may be
  // large. `fields`: further header fields.
  void reply_with(std::unique_ptr<BodySource> source, Outcome outcome, HttpFields fields = {});
  // Ends the answer, whose reply was given. The log shows `finish` as the reason of the end or, if
  // that is empty, the outcome's name.
  void end(Outcome outcome, unsigned status, std::string_view finish) noexcept;

  // Runs a step on the reactor's thread after so many seconds.
  void later(double seconds, Step step);
  // Hands the exchange over to another answer and ends this one without a count or a line in the
  // log.
  void pass_on(const std::shared_ptr<Answer>& next);

  // Whether keep() was called: the request's model was looked up by its name.
  bool was_chosen_for() const { return chosen_ != nullptr; }
  // Whether the answer has ended. Any thread may ask.
  bool ended() const { return ended_; }
  // Returns the pace for this answer's tasks on the worker.
  Pace pace();
  Exchange& exchange() const { return *exchange_; }

 private:
  friend class Answers;

  // Ends an answer that gets no reply: the client is gone, or memory ran out.
  void leave() noexcept;
  void log_end(Outcome outcome, unsigned status, std::string_view finish);

  Answers& all_;
  const std::shared_ptr<Exchange> exchange_;
  RequestMetrics* const metrics_;
  std::shared_ptr<const void> chosen_;
  std::atomic<bool> ended_{false};
};

}  // namespace hearth
