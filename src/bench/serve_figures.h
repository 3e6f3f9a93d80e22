// The figures of a load's requests: rates, percentiles, and how many met their objectives.
//
// TTFT is the time from when a request was due to the first text; TPOT = (latency - TTFT) /
// (output tokens - 1), of requests with two tokens or more (vLLM's definitions). Attainment is the
// part of all requests, failed ones too, that met both objectives; goodput the highest rate at
// which that part is 90 % or more (Sandwich's; vLLM's request_goodput is `good_rate` here).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/percentiles.h"
#include "bench/serve_runner.h"

namespace hearth {

inline constexpr double kGoodputAttainment = 0.9;

// Service level objectives in seconds; none: any time does.
struct ServeSlo {
  std::optional<double> ttft, tpot;

  bool given() const { return ttft || tpot; }
  bool met_by(const ServedRequest& request) const;
};

struct ServeFigures {
  struct Failures {
    uint64_t count = 0;
    std::string said;  // the server's message for the first one
  };

  uint64_t requests = 0, completed = 0;
  std::map<std::string, Failures> failures;  // by kind
  double seconds = 0;
  double request_rate = 0;                        // completed ones a second
  uint64_t prompt_tokens = 0, output_tokens = 0;  // of completed ones
  double prompt_rate = 0, output_rate = 0;        // tokens a second
  Percentiles ttft, tpot, gap, whole;             // of completed ones; gap: each one's longest
  std::vector<double> ttft_quantiles;             // of completed ones: percentiles 0 to 100
  std::optional<double> attainment;               // none: without objectives
  double good_rate = 0;                           // requests that met them, a second
  uint64_t shorter = 0;                           // completed with fewer tokens than asked for
  uint64_t uncounted = 0;                         // completed without the server's count of tokens
};

ServeFigures serve_figures(const ServedLoad& load, const ServeSlo& slo);

// Returns the goodput: the highest rate of a load in which kGoodputAttainment of the requests met
// the objectives; none where no load with a rate did.
std::optional<double> goodput(const std::vector<ServedLoad>& loads, const ServeSlo& slo);

// Looks for the goodput: doubles or halves a rate until it lies between one that reaches the
// attainment and one that does not, then halves the distance (as a ratio) until they differ by 5 %.
// Gives up where a sixteenth of the first rate is too much.
class RateSearch {
 public:
  explicit RateSearch(double first) : first_(first) {}
  // The rate to try; none: found, or given up.
  std::optional<double> next() const;
  void tell(double rate, bool reached);

 private:
  double first_;
  uint32_t tried_ = 0;
  std::optional<double> reached_, missed_;
};

}  // namespace hearth
