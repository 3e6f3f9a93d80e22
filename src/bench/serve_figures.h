// The figures of a load's requests: rates, percentiles, and how many met their objectives.
//
// TTFT is the time from when a request was due to the first text. TPOT = (latency - TTFT) / (output
// tokens - 1), of requests with two tokens or more (vLLM's definitions). Attainment is the part of
// all requests, failed ones included, that met both objectives. Goodput is the highest rate at
// which attainment is 90 % or more (Sandwich's definition). vLLM's request_goodput is `good_rate`
// here.
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

// Service level objectives in seconds. None: any time meets it.
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
  double request_rate = 0;                        // completed requests a second
  uint64_t prompt_tokens = 0, output_tokens = 0;  // tokens of completed requests
  double prompt_rate = 0, output_rate = 0;        // tokens a second
  Percentiles ttft, tpot, gap, whole;  // of completed requests; gap: each request's longest
  std::vector<double> ttft_quantiles;  // of completed requests: percentiles 0 to 100
  std::optional<double> attainment;    // none: there are no objectives
  double good_rate = 0;                // requests a second that met the objectives
  uint64_t shorter = 0;                // requests completed with fewer tokens than asked for
  uint64_t uncounted = 0;              // requests completed without the server's count of tokens
};

ServeFigures serve_figures(const ServedLoad& load, const ServeSlo& slo);

// Returns the goodput: the highest rate of a load whose attainment is at least kGoodputAttainment.
// Returns none if no load with a rate reaches that.
std::optional<double> goodput(const std::vector<ServedLoad>& loads, const ServeSlo& slo);

// Searches for the goodput. It doubles or halves a rate until it lies between a rate that reaches
// the attainment and one that does not. Then it halves the distance (as a ratio) until they differ
// by 5 %. It gives up where a sixteenth of the first rate is too much.
class RateSearch {
 public:
  explicit RateSearch(double first) : first_(first) {}
  // Returns the rate to try; none where the search has ended.
  std::optional<double> next() const;
  void record(double rate, bool reached);

 private:
  double first_;
  uint32_t tried_ = 0;
  std::optional<double> reached_, missed_;
};

}  // namespace hearth
