// Puts a load on a server and records the outcome of every request. Open loop: requests are due at
// moments of a Poisson process, whether earlier ones have been answered or not. Their times count
// from when they were due. Closed loop: a fixed number of requests is under way, and each answer
// starts the next.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/serve_answer.h"
#include "bench/serve_load.h"
#include "http/transport.h"

namespace hearth {

struct ServeLoad {
  std::optional<double> rate;  // requests a second on average; none: a closed loop
  uint32_t concurrency = 1;    // of a closed loop
  uint64_t requests = 100;     // the load ends after this many requests
  double seconds = std::numeric_limits<double>::infinity();  // no request is due after this
  double timeout = 600;                                      // of one request, from its start
  uint64_t seed = 0;                                         // of the arrival moments
  std::vector<RequestShape> shapes;  // taken in turn, from the first again after the last
};

struct ServedLoad {
  std::optional<double> rate;
  uint32_t concurrency = 0;
  std::vector<ServedRequest> requests;  // in the order in which they ended
  double seconds = 0;                   // from the start to the last end
};

struct ServeHooks {
  std::function<double()> clock;  // seconds; never goes back
  std::function<ClientRequest(const RequestShape&)> request;
  std::function<bool()> interrupted = [] { return false; };
  // Called after each request that ended, with the numbers of requests ended and under way.
  std::function<void(uint64_t ended, uint64_t under_way)> progress = [](uint64_t, uint64_t) {};
};

class ServeRunner {
 public:
  ServeRunner(Transport& transport, ServeHooks hooks)
      : transport_(transport), hooks_(std::move(hooks)) {}

  // Sends the load. If the user interrupts, requests under way are abandoned and left out of the
  // result.
  ServedLoad run(const ServeLoad& load);

 private:
  struct UnderWay {
    AnswerReader answer;
    double started;
  };

  void start(const RequestShape& shape, double due);
  void take(const std::vector<ReplyEvent>& events, ServedLoad* served);
  void give_up(double timeout, ServedLoad* served);
  void finish(std::map<uint64_t, UnderWay>::iterator which, ServedLoad* served);

  Transport& transport_;
  ServeHooks hooks_;
  std::map<uint64_t, UnderWay> under_way_;  // by id, so in the order of their start
  uint64_t next_id_ = 0;
};

}  // namespace hearth
