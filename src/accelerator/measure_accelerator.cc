#include "accelerator/measure_accelerator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "accelerator/call_time.h"
#include "accelerator/kernel_trial.h"
#include "base/bytes_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/round_up.h"
#include "kernels/gemm/gemm_problem.h"

namespace hearth {
namespace {

constexpr double kMeasurePatience = 120;
// A list lasts about this many seconds, so that its beginning and end hardly count.
constexpr double kListSeconds = 0.02;
constexpr uint32_t kMaxCommands = 512;
constexpr size_t kMinRepetitions = 3, kMaxRepetitions = 9, kMaxSubmissions = 101;
constexpr uint64_t kMinPiece = 4096, kFirstPiece = uint64_t{1} << 20;
constexpr uint32_t kFirstSide = 256;
// The most rows with which a slow product is still measured. The time of more rows is predicted in
// proportion to them.
constexpr uint32_t kFewRows = 128;
// No buffer, and no set of copies of one matrix, takes more than one part in kPartOfMemory of the
// memory.
constexpr uint64_t kPartOfMemory = 8;
constexpr uint64_t kCopiesInPieces = 4;

constexpr uint32_t kMaxTrialRows = 1024;
// How many other measurements share the time: writes, reads, copies to and from imported memory and
// within the accelerator's own, submissions, commands.
constexpr uint32_t kOtherParts = 7;

struct FreeAligned {
  void operator()(std::byte* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;

Spread whole_spread(std::vector<double> values) {
  const auto whole = [](double value) { return std::max(1.0, std::round(value)); };
  const Spread spread = spread_of(std::move(values));
  return {whole(spread.median), whole(spread.least), whole(spread.most)};
}

Spread rates_of(const std::vector<double>& seconds, double amount) {
  std::vector<double> rates;
  // A clock may show 0 seconds for very short work, so each time counts as at least 1 ns.
  for (const double one : seconds) rates.push_back(amount / std::max(one, 1e-9));
  return whole_spread(std::move(rates));
}

// A product with some copies of its matrix, ready to run.
class ProductTrial {
 public:
  ProductTrial(Accelerator& accelerator, PackKind kind, uint32_t rows, uint32_t side,
               uint32_t copies)
      : copies_(copies) {
    constexpr uint32_t kSeed = 1;
    const Problem made =
        make_problem(kind, side / kPanelRows, side / kBlock, 0, rows, Fill::kRandom, kSeed);
    scales_at_ = round_up<uint64_t>(made.spec.codes_bytes(), kApart);
    copy_bytes_ = scales_at_ + round_up<uint64_t>(made.spec.scales_bytes(), kApart);
    weights_ = accelerator.allocate(copy_bytes_ * copies);
    for (uint32_t i = 0; i < copies; ++i) {
      const Place codes = weights_.at(copy_bytes_ * i);
      accelerator.write(codes, {made.codes.data(), made.spec.codes_bytes()});
      accelerator.write(codes + scales_at_, {made.scales.data(), made.spec.scales_bytes()});
    }
    const ActFormat format = act_format_for(kind);
    const uint64_t activation_bytes = act_bytes(format, rows, side);
    activations_ = accelerator.allocate(activation_bytes);
    accelerator.write(activations_.at(), {made.act_bytes.data(), activation_bytes});
    results_ = accelerator.allocate(uint64_t{4} * rows * side);
    call_.spec = made.spec;
    call_.panels = made.spec.panels();
    call_.block1 = made.spec.blocks();
    call_.a = {activations_.at(), format, rows, side};
    call_.m = rows;
    call_.out = {results_.at(), side};
    call_.codes = weights_.at();
    call_.scales = weights_.at(scales_at_);
  }

  const GemmCall& call() const { return call_; }
  uint64_t copy_bytes() const { return copy_bytes_; }

  CommandList list(uint32_t commands) const {
    CommandList list;
    for (uint32_t i = 0; i < commands; ++i) {
      GemmCall call = call_;
      call.codes = weights_.at(copy_bytes_ * (i % copies_));
      call.scales = call.codes + scales_at_;
      list.commands.push_back({.work = KernelCall(std::move(call))});
    }
    return list;
  }

 private:
  static constexpr uint64_t kApart = 256;

  uint32_t copies_;
  uint64_t scales_at_ = 0, copy_bytes_ = 0;
  Buffer weights_, activations_, results_;
  GemmCall call_;
};

class Measurement {
 public:
  Measurement(Accelerator& accelerator, const MeasureOptions& options)
      : accelerator_(accelerator),
        options_(options),
        trials_(wanted_trials(options)),
        parts_(static_cast<uint32_t>(kOtherParts + options.kinds.size() * options.rows.size() +
                                     trials_.size())),
        // Half of a measurement's time is for first tries, which find how much work to measure. The
        // other half is for the repetitions that count.
        share_(options.seconds / (2 * parts_)),
        piece_(largest_piece()),
        gate_(accelerator.make_timeline()),
        ended_(accelerator.make_timeline()) {}

  AcceleratorRates run() {
    AcceleratorRates rates;
    report_progress();
    measure_host(&rates);
    measure_imported(&rates);
    rates.memory = measure_memory();
    report_progress();
    rates.submission_nanoseconds = measure_submissions();
    report_progress();
    rates.command_nanoseconds = measure_commands();
    report_progress();
    for (const PackKind kind : options_.kinds) {
      for (const uint32_t rows : options_.rows) {
        if (rows <= kFewRows || is_quick(rates.products.back(), rows)) {
          rates.products.push_back(measure_product(kind, rows));
        }
        report_progress();
      }
    }
    for (const TrialKind& kind : trials_) {
      rates.kernels.push_back(measure_kernel(kind));
      report_progress();
    }
    return rates;
  }

 private:
  void report_progress() {
    if (options_.report) options_.report(done_, parts_);
    ++done_;
  }

  static std::vector<TrialKind> wanted_trials(const MeasureOptions& options) {
    std::vector<TrialKind> kinds = trial_kinds();
    std::erase_if(kinds, [&](const TrialKind& kind) {
      return options.kernels && std::ranges::count(*options.kernels, kind.contract) == 0;
    });
    return kinds;
  }

  uint64_t largest_piece() const {
    const AcceleratorFacts& facts = accelerator_.facts();
    const uint64_t memory = facts.free_bytes != 0 ? facts.free_bytes : facts.memory_bytes;
    const uint64_t room = std::min(memory, facts.allocation_bytes) / kPartOfMemory;
    uint64_t piece = options_.piece_bytes;
    while (piece > room && piece > kMinPiece) piece /= 2;
    return piece;
  }

  // Returns the queue for copies over the link: one that only copies, if the accelerator has one.
  uint32_t link_queue() const {
    const std::vector<QueueFacts>& queues = accelerator_.facts().queues;
    for (uint32_t i = 0; i < queues.size(); ++i) {
      if (!queues[i].computes) return i;
    }
    return 0;
  }

  // Signals the list, which uses one queue, to begin. Returns the seconds until the host knows that
  // it has ended.
  double seconds_of(CommandList list) {
    const Moment gate{gate_, ++gate_value_}, end{ended_, ++end_value_};
    list.commands.front().waits = {gate};
    list.commands.back().signals = {end};
    accelerator_.submit(list);
    const double begin = steady_seconds();
    accelerator_.signal(gate);
    accelerator_.wait(end, kMeasurePatience);
    return steady_seconds() - begin;
  }

  // Calls `once` several times, after a first call that does not count. Returns the seconds of the
  // calls.
  template <typename Once>
  std::vector<double> repeated(const Once& once, size_t most = kMaxRepetitions) {
    once();
    std::vector<double> seconds;
    const double begin = steady_seconds();
    while (seconds.size() < kMinRepetitions ||
           (seconds.size() < most && steady_seconds() - begin < share_)) {
      seconds.push_back(once());
    }
    return seconds;
  }

  // Returns `size`, doubled as long as the next size's repetitions fit the time of one measurement.
  // The next size takes `factor` times as long as the size before it.
  template <typename Seconds>
  uint64_t grown(uint64_t size, uint64_t most, double factor, const Seconds& seconds) {
    while (2 * size <= most && factor * kMinRepetitions * seconds(size) < share_) size *= 2;
    return size;
  }

  // Returns how many commands a list needs to last about kListSeconds. list(n) makes a list of n
  // commands.
  template <typename List>
  uint32_t commands_for(const List& list) {
    const double wanted = std::min(kListSeconds, share_ / kMinRepetitions);
    uint32_t commands = 1;
    // The first try mostly measures the submission if a command is short. So a second try has more
    // commands.
    for (int tries = 0; tries < 2; ++tries) {
      const double each = std::max(seconds_of(list(commands)), 1e-9) / commands;
      commands = static_cast<uint32_t>(std::clamp<double>(wanted / each, 1, kMaxCommands));
    }
    return commands;
  }

  template <typename Once>
  TransferRate transfer(const Once& once) {
    const uint64_t bytes = grown(std::min(kFirstPiece, piece_), piece_, 2, [&](uint64_t size) {
      once(size);
      return once(size);
    });
    return {bytes, rates_of(repeated([&] { return once(bytes); }), static_cast<double>(bytes))};
  }

  void measure_host(AcceleratorRates* rates) {
    const Buffer own = accelerator_.allocate(piece_);
    std::vector<std::byte> host(piece_, std::byte{1});
    const auto timed = [](const auto& work) {
      const double begin = steady_seconds();
      work();
      return steady_seconds() - begin;
    };
    rates->write = transfer([&](uint64_t bytes) {
      return timed([&] { accelerator_.write(own.at(), std::span(host).first(bytes)); });
    });
    report_progress();
    rates->read = transfer([&](uint64_t bytes) {
      return timed([&] { accelerator_.read(own.at(), std::span(host).first(bytes)); });
    });
    report_progress();
  }

  static CommandList copies(uint32_t queue, Place from, Place to, uint64_t bytes, uint32_t count) {
    const Command copy = {.queue = queue, .work = CopyBytes{from, to, bytes}};
    return {std::vector<Command>(count, copy)};
  }

  // Measures copies between the places. Each byte counts `moved` times: twice where both places are
  // in the accelerator's memory.
  TransferRate copy_rate(uint32_t queue, Place from, Place to, uint32_t moved) {
    const uint64_t bytes = grown(std::min(kFirstPiece, piece_), piece_, 2, [&](uint64_t size) {
      seconds_of(copies(queue, from, to, size, 1));
      return seconds_of(copies(queue, from, to, size, 1));
    });
    const auto list = [&](uint32_t count) { return copies(queue, from, to, bytes, count); };
    const uint32_t count = commands_for(list);
    return {bytes, rates_of(repeated([&] { return seconds_of(list(count)); }),
                            static_cast<double>(bytes) * count * moved)};
  }

  void measure_imported(AcceleratorRates* rates) {
    const uint64_t alignment = accelerator_.facts().import_alignment;
    if (alignment == 0) {
      rates->import_refused = "it cannot import memory";
      done_ += 2;
      return;
    }
    const uint64_t bytes = round_up(piece_, alignment);
    const AlignedBytes memory(
        static_cast<std::byte*>(std::aligned_alloc(static_cast<size_t>(alignment), bytes)));
    if (memory == nullptr) {
      fail(ErrorCode::kResource, "not enough memory for a buffer of {} to copy from: free memory",
           bytes_text(bytes));
    }
    std::fill_n(memory.get(), bytes, std::byte{1});
    Buffer host;
    try {
      host = accelerator_.import({memory.get(), bytes});
    } catch (const Error& error) {
      // A driver may refuse to import this memory, which is no failure. If the accelerator is lost
      // instead, its next use throws again.
      rates->import_refused = error.what();
      done_ += 2;
      return;
    }
    const Buffer own = accelerator_.allocate(piece_);
    rates->import_to = copy_rate(link_queue(), host.at(), own.at(), 1);
    report_progress();
    rates->import_from = copy_rate(link_queue(), own.at(), host.at(), 1);
    report_progress();
  }

  TransferRate measure_memory() {
    const Buffer a = accelerator_.allocate(piece_), b = accelerator_.allocate(piece_);
    accelerator_.write(a.at(), std::vector<std::byte>(piece_, std::byte{1}));
    return copy_rate(0, a.at(), b.at(), 2);
  }

  Spread measure_submissions() {
    constexpr uint64_t kBytes = 4;
    const Buffer buffer = accelerator_.allocate(2 * kBytes);
    accelerator_.write(buffer.at(), std::vector<std::byte>(2 * kBytes));
    CommandList list = copies(0, buffer.at(), buffer.at(kBytes), kBytes, 1);
    std::vector<double> seconds = repeated(
        [&] {
          const Moment end{ended_, ++end_value_};
          list.commands[0].signals = {end};
          const double begin = steady_seconds();
          accelerator_.submit(list);
          accelerator_.wait(end, kMeasurePatience);
          return steady_seconds() - begin;
        },
        kMaxSubmissions);
    for (double& one : seconds) one *= 1e9;
    return whole_spread(std::move(seconds));
  }

  uint32_t copies_for(uint32_t commands, uint64_t bytes) const {
    const uint64_t copies = kCopiesInPieces * piece_ / bytes;
    return static_cast<uint32_t>(std::clamp<uint64_t>(copies, 1, commands));
  }

  // Whether the smallest product with `rows` rows is likely to end within the time of one
  // measurement, judged by `fewer`.
  bool is_quick(const ProductRate& fewer, uint32_t rows) const {
    const double amount = static_cast<double>(rows) * kFirstSide * kFirstSide;
    return fewer.refused.empty() && amount / fewer.per_second.median < share_;
  }

  ProductRate measure_product(PackKind kind, uint32_t rows) {
    ProductRate rate{.kind = kind, .rows = rows, .side = kFirstSide};
    {
      const ProductTrial trial(accelerator_, kind, rows, kFirstSide, 1);
      rate.refused = accelerator_.why_not(trial.call());
      if (!rate.refused.empty()) return rate;
    }
    constexpr double kArea = 4;
    rate.side = static_cast<uint32_t>(grown(kFirstSide, options_.side, kArea, [&](uint64_t side) {
      const ProductTrial trial(accelerator_, kind, rows, static_cast<uint32_t>(side), 1);
      seconds_of(trial.list(1));
      return seconds_of(trial.list(1));
    }));
    uint32_t commands = 0, copies = 0;
    {
      const ProductTrial one(accelerator_, kind, rows, rate.side, 1);
      seconds_of(one.list(1));
      commands = commands_for([&](uint32_t n) { return one.list(n); });
      copies = copies_for(commands, one.copy_bytes());
    }
    const ProductTrial trial(accelerator_, kind, rows, rate.side, copies);
    const double amount = static_cast<double>(rows) * rate.side * rate.side * commands;
    rate.per_second = rates_of(repeated([&] { return seconds_of(trial.list(commands)); }), amount);
    return rate;
  }

  // Measures ordered commands that each work on one row of few floats.
  Spread measure_commands() {
    constexpr uint32_t kFloats = 16;
    const Buffer buffer = accelerator_.allocate(kFloats * sizeof(float));
    accelerator_.write(buffer.at(), std::vector<std::byte>(buffer.bytes()));
    const FloatRows x{buffer.at(), kFloats};
    const Command add{.work = AddCall{.a = x, .b = x, .rows = 1, .n = kFloats, .out = x}};
    const auto list = [&](uint32_t count) { return CommandList{std::vector<Command>(count, add)}; };
    const uint32_t count = commands_for(list);
    std::vector<double> seconds = repeated([&] { return seconds_of(list(count)); });
    for (double& one : seconds) one *= 1e9 / count;
    return whole_spread(std::move(seconds));
  }

  KernelRate measure_kernel(const TrialKind& kind) {
    KernelRate rate{.contract = kind.contract, .rows = kPagePositions, .length = kind.length};
    {
      const KernelTrial trial(accelerator_, kind, rate.rows);
      rate.refused = accelerator_.why_not(trial.call());
      if (!rate.refused.empty()) return rate;
    }
    const double factor = kind.attends ? 4 : 2;
    const auto once = [&](uint64_t rows) {
      const KernelTrial trial(accelerator_, kind, static_cast<uint32_t>(rows));
      seconds_of(trial.list(1));
      return seconds_of(trial.list(1));
    };
    rate.rows = static_cast<uint32_t>(grown(rate.rows, kMaxTrialRows, factor, once));
    const KernelTrial trial(accelerator_, kind, rate.rows);
    seconds_of(trial.list(1));
    const uint32_t count = commands_for([&](uint32_t n) { return trial.list(n); });
    rate.per_second = rates_of(repeated([&] { return seconds_of(trial.list(count)); }),
                               work_of(trial.call()) * count);
    return rate;
  }

  Accelerator& accelerator_;
  const MeasureOptions& options_;
  const std::vector<TrialKind> trials_;
  const uint32_t parts_;
  double share_;  // seconds of one part
  uint64_t piece_;
  TimelineId gate_, ended_;
  uint64_t gate_value_ = 0, end_value_ = 0;
  uint32_t done_ = 0;
};

}  // namespace

AcceleratorRates measure_accelerator(Accelerator& accelerator, const MeasureOptions& options) {
  return Measurement(accelerator, options).run();
}

}  // namespace hearth
