#include "bench/serve_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hearth {
namespace {

// The longest wait, in seconds, between two checks for an interruption.
constexpr double kLongestWait = 0.2;

// Computes when requests are due, by the client's clock.
class Schedule {
 public:
  Schedule(const ServeLoad& load, double start)
      : load_(load), start_(start), arrivals_(load.rate.value_or(1), load.seed) {
    if (load.rate) due_ = start_ + arrivals_.next();
  }

  // Returns whether another request will be due at or after `now`, if enough requests under way
  // end.
  bool more(double now) const {
    double due = load_.rate ? due_ : now;
    return count_ < load_.requests && due < start_ + load_.seconds;
  }
  // Returns when the next request may start; infinity if it must wait until one of those under way
  // ends.
  double due(double now, size_t under_way) const {
    if (load_.rate) return due_;
    return under_way < load_.concurrency ? now : std::numeric_limits<double>::infinity();
  }
  const RequestShape& take() {
    if (load_.rate) due_ = start_ + arrivals_.next();
    return load_.shapes[count_++ % load_.shapes.size()];
  }

 private:
  const ServeLoad& load_;
  double start_;
  PoissonArrivals arrivals_;
  double due_ = 0;
  uint64_t count_ = 0;
};

}  // namespace

ServedLoad ServeRunner::run(const ServeLoad& load) {
  HEARTH_CHECK(!load.shapes.empty(), "a load has requests of some length");
  ServedLoad served;
  served.rate = load.rate;
  served.concurrency = load.rate ? 0 : load.concurrency;
  double start_time = hooks_.clock();
  Schedule schedule(load, start_time);
  std::vector<ReplyEvent> events;
  while (!hooks_.interrupted()) {
    double now = hooks_.clock();
    while (schedule.more(now) && schedule.due(now, under_way_.size()) <= now) {
      double due = schedule.due(now, under_way_.size());
      start(schedule.take(), due);
    }
    bool more = schedule.more(now);
    if (!more && under_way_.empty()) break;
    double wait = kLongestWait;
    if (more) wait = std::min(wait, schedule.due(now, under_way_.size()) - now);
    events.clear();
    transport_.wait(std::max(wait, 0.0), &events);
    take(events, &served);
    give_up(load.timeout, &served);
  }
  for (const auto& [id, request] : under_way_) transport_.abandon(id);
  under_way_.clear();
  for (const ServedRequest& request : served.requests) {
    served.seconds = std::max(served.seconds, request.end - start_time);
  }
  return served;
}

void ServeRunner::start(const RequestShape& shape, double due) {
  uint64_t id = next_id_++;
  under_way_.emplace(id, UnderWay{AnswerReader(shape, due), hooks_.clock()});
  transport_.start(id, hooks_.request(shape));
}

void ServeRunner::take(const std::vector<ReplyEvent>& events, ServedLoad* served) {
  for (const ReplyEvent& event : events) {
    auto which = under_way_.find(event.id);
    if (which == under_way_.end()) continue;
    which->second.answer.take(event);
    if (which->second.answer.ended()) finish(which, served);
  }
}

void ServeRunner::give_up(double timeout, ServedLoad* served) {
  double now = hooks_.clock();
  while (!under_way_.empty() && now - under_way_.begin()->second.started > timeout) {
    auto which = under_way_.begin();
    which->second.answer.fail("timeout", fmt::format("no complete answer within {} s", timeout),
                              now);
    finish(which, served);
  }
}

void ServeRunner::finish(std::map<uint64_t, UnderWay>::iterator which, ServedLoad* served) {
  transport_.abandon(which->first);
  served->requests.push_back(which->second.answer.request());
  under_way_.erase(which);
  hooks_.progress(served->requests.size(), under_way_.size());
}

}  // namespace hearth
