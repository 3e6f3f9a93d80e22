// Sends texts to an endpoint, for the tests of faulty endpoints.
//
//
//   endpoint_probe run SPEC N        runs N batches of three texts; prints a line for each result
//   endpoint_probe queue SPEC N      sends N texts to the endpoint and a simulated pool with room
// for
//                                    40 of them: "N answered, N vectors, N busy, N other"
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "embed/device_spec.h"
#include "embed/queue_manager.h"

namespace hearth {
namespace {

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kRequest:
      return "request";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kResource:
      return "resource";
    case ErrorCode::kUsage:
      return "usage";
    default:
      return "other";
  }
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void run_batches(EmbedDevice& device, int count) {
  std::vector<EmbedQuery> queries = {{"one", {}}, {"two words", {}}, {"", {7, 8, 9}}};
  std::vector<const EmbedQuery*> batch;
  for (const EmbedQuery& query : queries) batch.push_back(&query);
  for (int i = 0; i < count; ++i) {
    try {
      std::vector<EmbedVector> vectors = device.run(batch);
      say(fmt::format("ok {} {:.4f} {:.4f} {:.4f}", vectors.size(), vectors[0][0], vectors[1][0],
                      vectors[2][0]));
    } catch (const Error& error) {
      say(fmt::format("{} {}", code_name(error.code()), error.what()));
    }
  }
}

struct Counts {
  std::atomic<int> answered{0}, vectors{0}, busy{0}, other{0};
};

void run_queue(std::unique_ptr<EmbedDevice> endpoint, DeviceClock& clock, int count) {
  SimOptions sim;
  sim.alpha = sim.beta = 1e-4;
  sim.width = endpoint->width();
  std::vector<DeviceQueue> queues;
  queues.push_back({std::move(endpoint), {1e-4, 1e-3}, 100'000});
  queues.push_back(
      {std::make_unique<SimDevice>("pool", DeviceKind::kCpu, sim, clock), {1e-4, 1e-3}, 40 * 3});
  DispatchOptions options;
  options.admission = Admission::kDepth;
  options.first_probe = options.last_probe = 0.01;
  std::vector<std::atomic<int>> answers(static_cast<size_t>(count));
  Counts counts;
  {
    QueueManager manager(std::move(queues), options, clock);
    for (int i = 0; i < count; ++i) {
      auto done = [&, i](EmbedOutcome outcome) {
        if (answers[static_cast<size_t>(i)]++ == 0) ++counts.answered;
        if (!outcome.error) {
          ++counts.vectors;
        } else {
          ++(outcome.error->code() == ErrorCode::kBusy ? counts.busy : counts.other);
        }
      };
      manager.submit_waiting({fmt::format("{:04}", i), {}}, done);
    }
    while (counts.answered < count) clock.sleep_until(clock.now() + 1e-3);
  }
  say(fmt::format("{} answered, {} vectors, {} busy, {} other", counts.answered.load(),
                  counts.vectors.load(), counts.busy.load(), counts.other.load()));
}

int probe(const std::string& what, const std::string& spec, int count) {
  SteadyClock clock;
  std::unique_ptr<EmbedDevice> device;
  try {
    device = make_device(parse_device_spec(spec), clock, {});
  } catch (const Error& error) {
    say(fmt::format("not made: {} {}", code_name(error.code()), error.what()));
    return 0;
  }
  say(fmt::format("width {}", device->width()));
  if (what == "run") {
    run_batches(*device, count);
  } else {
    run_queue(std::move(device), clock, count);
  }
  return 0;
}

}  // namespace
}  // namespace hearth

int main(int count, char** words) {
  if (count != 4) {
    std::fputs("usage: endpoint_probe run|queue SPEC N\n", stderr);
    return 2;
  }
  return hearth::probe(words[1], words[2], std::atoi(words[3]));
}
