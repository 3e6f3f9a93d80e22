#include "cli/bench_embed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "base/error.h"
#include "base/progress.h"
#include "bench/embed_bench.h"
#include "bench/embed_report.h"
#include "bench/runner.h"
#include "bench/serve_load.h"
#include "cli/embed_model.h"
#include "cli/text_io.h"
#include "embed/agreement.h"

namespace hearth {
namespace {

constexpr uint64_t kDispatchTexts = 2000;
constexpr uint64_t kSeed = 1;
// How many different token ids generated texts have if no model is given. The ids' values do not
// change the time.
constexpr uint32_t kIds = 1000;

bool is_simulated(const DeviceSpec& spec) { return std::holds_alternative<SimOptions>(spec.what); }

// Makes endpoints and pools first, then simulations, whose vectors get the same width.
std::vector<std::unique_ptr<EmbedDevice>> make_devices(std::vector<DeviceSpec> specs,
                                                       DeviceClock& clock, const PoolMaker& pool) {
  std::vector<std::unique_ptr<EmbedDevice>> devices(specs.size());
  uint32_t width = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (is_simulated(specs[i])) continue;
    devices[i] = make_device(specs[i], clock, pool);
    width = devices[i]->width();
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    auto* sim = std::get_if<SimOptions>(&specs[i].what);
    if (sim == nullptr) continue;
    if (width != 0) sim->width = width;
    devices[i] = make_device(specs[i], clock, pool);
  }
  return devices;
}

// Makes a pool of the model for each `cpu` device; opens the model when the first of them needs it.
class BenchPools {
 public:
  BenchPools(BenchSession& session, DeviceClock& clock) : session_(session), clock_(clock) {}

  std::unique_ptr<EmbedDevice> make(const DeviceSpec& spec) {
    EmbedModelArgs args;
    args.model = session_.args.model;
    args.engine = session_.args.engine;
    args.devices.pools = "one";
    // The spec gets the pool's own name: parse_device_specs() has numbered pools that had the same
    // name.
    std::string text = spec.text;
    if (const auto* of = std::get_if<PoolSpec>(&spec.what)) {
      text = "cpu:name=" + spec.name;
      for (const auto& [key, value] : of->settings) text += fmt::format(",{}={}", key, value);
    }
    args.devices.devices = {text};
    if (!model_) model_.emplace(open_embed_model(args));
    EmbedSetup setup = load_devices(args, *model_, session_.machine, clock_, &session_.interrupts);
    require_queue(setup);
    return std::move(setup.queues[0].device);
  }

  const EmbedModel* model() const { return model_ ? &*model_ : nullptr; }
  uint32_t ids() const { return model_ ? model_->model.spec.hyper.vocabulary : kIds; }
  EmbedQuery query(std::string_view text) const {
    return model_ ? model_->query(text) : EmbedQuery{std::string(text), {}};
  }

 private:
  BenchSession& session_;
  DeviceClock& clock_;
  std::optional<EmbedModel> model_;
};

// Runs the measurements of one `hearth bench --embed`, and holds the devices and their results.
class EmbedMeasurement {
 public:
  EmbedMeasurement(BenchSession& session, const BenchEmbedArgs& args)
      : session_(session),
        args_(args),
        pools_(session, clock_),
        specs_(parse_device_specs(args.devices)),
        devices_(make_devices(specs_, clock_,
                              [&](const DeviceSpec& spec) { return pools_.make(spec); })),
        progress_("embed", 0, [](uint64_t n) { return fmt::format("{} steps", n); }) {
    report_.version = session.report.version;
    report_.time = session.report.time;
    report_.cpu = session.report.cpu;
    report_.devices = args.devices;
    report_.repetitions = session.args.repetitions;
    if (pools_.model() != nullptr) report_.model = pools_.model()->model.source.name();
  }

  const EmbedReport& run() {
    refuse_disagreement();
    EmbedBenchHooks hooks;
    hooks.query = [ids = pools_.ids()](uint32_t tokens, uint64_t number) {
      auto seed = static_cast<uint32_t>(number);
      return EmbedQuery{random_words(tokens, number), bench_tokens(tokens, ids, seed)};
    };
    hooks.interrupted = [&] { return session_.interrupted(); };
    hooks.progress = [&](std::string_view doing) { progress_.update(++steps_, doing); };
    std::vector<EmbedDevice*> devices;
    for (const auto& device : devices_) devices.push_back(device.get());
    EmbedBench bench(devices, clock_, hooks);
    for (uint32_t length : args_.lengths) {
      for (double slo : args_.slos) measure(bench, length, slo);
    }
    if (!session_.interrupted()) report_.dispatch = measure_dispatch(clock_, kDispatchTexts);
    progress_.finish();
    report_.interrupted = session_.interrupted();
    report_.shares = cpu_shares(session_.cpu_before, read_cpu_times());
    return report_;
  }

 private:
  void refuse_disagreement() {
    std::vector<EmbedDevice*> real;
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (!is_simulated(specs_[i])) real.push_back(devices_[i].get());
    }
    if (real.size() < 2) return;
    auto query = [&](std::string_view text) { return pools_.query(text); };
    std::vector<std::string> troubles = check_agreement(real, query);
    for (size_t i = 0; i < real.size(); ++i) {
      if (troubles[i].empty()) continue;
      fail(ErrorCode::kUnsupported, "{}: {}", real[i]->name(), troubles[i]);
    }
  }

  void measure(EmbedBench& bench, uint32_t length, double slo) {
    if (session_.interrupted()) return;
    EmbedCase one = bench.measure(length, slo, session_.args.repetitions);
    if (session_.interrupted()) return;
    report_.cases.push_back(one);
    if (one.together() == 0) {
      report_.notes.push_back(
          fmt::format("no device answers a single text of {} tokens within {:.4g} s", length, slo));
      return;
    }
    for (double part : args_.parts) {
      for (const std::string& admission : args_.admissions) {
        if (part == 0 || session_.interrupted()) continue;
        Admission how = admission == "depth" ? Admission::kDepth : Admission::kDeadline;
        EmbedArrivals load =
            bench.arrivals(one, how, part * one.capacity(), args_.arrival_seconds, kSeed);
        if (!session_.interrupted()) report_.arrivals.push_back(std::move(load));
      }
    }
  }

  BenchSession& session_;
  const BenchEmbedArgs& args_;
  SteadyClock clock_;
  BenchPools pools_;
  std::vector<DeviceSpec> specs_;
  std::vector<std::unique_ptr<EmbedDevice>> devices_;
  EmbedReport report_;
  Progress progress_;
  uint64_t steps_ = 0;
};

CLI::AsNumberWithUnit seconds_or_milliseconds() {
  return CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"ms", 1e-3}},
                               CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME");
}

}  // namespace

void add_bench_embed_options(CLI::App& verb, BenchEmbedArgs* args,
                             const std::vector<CLI::Option*>& others) {
  CLI::Option* embed =
      verb.add_flag("--embed", args->embed,
                    fmt::format("Measure how many texts devices embed at once within a time "
                                "objective, alone and together; -p sets the lengths of texts ({})",
                                kProbeTokens));
  for (CLI::Option* other : others) embed->excludes(other);
  CLI::Option* device =
      verb.add_option("--device", args->devices,
                      "With --embed: a device; repeat for more; such as "
                      "sim:alpha=0.018,beta=0.27,kind=accelerator, http://host:port/v1, gpu or cpu")
          ->allow_extra_args(false)
          ->type_name("SPEC");
  CLI::Option* slo = verb.add_option("--slo", args->slos,
                                     "With --embed: time objectives, the longest that an answer "
                                     "may take, such as 1s,500ms")
                         ->delimiter(',')
                         ->allow_extra_args(false)
                         ->transform(seconds_or_milliseconds())
                         ->check(CLI::Range(1e-3, 1e4))
                         ->default_str("1s,2s")
                         ->type_name("X,X,...");
  CLI::Option* admission =
      verb.add_option(
              "--admission", args->admissions,
              "With --embed: how queues admit texts that arrive at random: deadline, depth or both")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::IsMember({"deadline", "depth"}))
          ->default_str("deadline")
          ->type_name("X,X");
  CLI::Option* parts = verb.add_option("--parts", args->parts,
                                       "With --embed: random arrival rates, as fractions of what "
                                       "the devices can answer in time; 0: none")
                           ->delimiter(',')
                           ->allow_extra_args(false)
                           ->check(CLI::Range(0.0, 100.0))
                           ->default_str("0.5,1,1.5")
                           ->type_name("X,X,...");
  CLI::Option* seconds = verb.add_option("--arrival-seconds", args->arrival_seconds,
                                         "With --embed: seconds of arrivals at each rate")
                             ->check(CLI::Range(1e-2, 1e5))
                             ->capture_default_str()
                             ->type_name("X");
  for (CLI::Option* option : {device, slo, admission, parts, seconds}) option->needs(embed);
  embed->needs(device);
}

int measure_embed(BenchSession& session, const BenchEmbedArgs& args) {
  if (std::ranges::find(args.lengths, 0u) != args.lengths.end()) {
    fail(ErrorCode::kUsage,
         "-p 0: a text to embed needs at least one token; give a length of 1 or more");
  }
  EmbedMeasurement measurement(session, args);
  return write_report(session.args, measurement.run());
}

}  // namespace hearth
