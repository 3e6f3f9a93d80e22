#include "embed/embed_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/number_list.h"
#include "embed/agreement.h"
#include "embed/detector.h"
#include "embed/estimator.h"
#include "embed/gpu_device.h"
#include "embed/latency_line.h"
#include "http/curl_handle.h"

namespace hearth {
namespace {

// The most tokens of an endpoint's batch if nothing was measured; the server may split the batch.
constexpr uint64_t kEndpointBatch = 8192;
// A queue without an objective has slots for so many batches, besides the longest text: one batch
// runs, one waits.
constexpr uint64_t kBatchesAhead = 2;
constexpr uint32_t kMaxNumber = 1u << 16;
// One core in this many is left to the host's part of accelerators' work.
constexpr uint32_t kHostShare = 4;

// Parses "0-1+3" into the numbers 0, 1, 3.
std::vector<uint32_t> read_numbers(const DeviceSpec& spec, const std::string& key,
                                   const std::string& text) {
  std::optional<std::vector<uint32_t>> numbers = parse_number_list(text, '+', kMaxNumber);
  if (!numbers) {
    fail(ErrorCode::kUsage, "device '{}': {}={} is not a list of numbers such as 0-3+8", spec.text,
         key, text);
  }
  return *std::move(numbers);
}

struct Candidate {
  DeviceSpec spec;
  std::unique_ptr<EmbedDevice> device;  // null: not made, or could not be
  DeviceReport report;
  std::string trouble;
  std::shared_ptr<Accelerator> accelerator = nullptr;  // the GPU, once it is open
  uint64_t batch = kEndpointBatch, slots = 0;
  uint64_t context = kMaxContext;  // the most tokens of one text

  bool pool() const { return std::holds_alternative<PoolSpec>(spec.what); }
  const GpuSpec* gpu() const { return std::get_if<GpuSpec>(&spec.what); }
  // Returns whether the device is an accelerator of this machine or stands for one: a GPU, a
  // simulation, or a server at a name that always means this machine.
  bool here() const {
    if (spec.kind != DeviceKind::kAccelerator) return false;
    const auto* endpoint = std::get_if<EndpointOptions>(&spec.what);
    return endpoint == nullptr || is_this_machine(endpoint->base);
  }
  int turn() const { return pool() ? 0 : gpu() != nullptr ? 1 : 2; }
  bool made() const { return device != nullptr && trouble.empty(); }
};

class Setup {
 public:
  Setup(const Machine& machine, const SetupOptions& options, const MakeQuery& make_query,
        DeviceClock& clock, const Listener& listener)
      : machine_(machine),
        options_(options),
        make_query_(make_query),
        clock_(clock),
        listener_(listener) {
    std::vector<std::string> texts = options.devices;
    if (texts.empty()) texts.emplace_back("cpu");
    for (DeviceSpec& spec : parse_device_specs(texts)) {
      Candidate candidate{std::move(spec), nullptr, {}, {}};
      candidate.report.name = candidate.spec.name;
      candidate.report.kind = candidate.spec.kind;
      candidates_.push_back(std::move(candidate));
    }
  }

  void make_others();
  void open_gpus();
  void make_gpus();
  void make_pools(const MakeEngine& make_engine);
  void check_they_agree();
  void measure();
  void decide();
  EmbedSetup take();

 private:
  template <typename Act>
  void for_each_gpu(const Act& act);
  EngineOptions gpu_engine() const;
  PoolsOptions pools_of(const DeviceSpec& spec) const;
  uint32_t host_cores(const DeviceSpec& spec) const;
  void announce_engines();
  void add_context(uint64_t context);
  bool has_objective() const { return std::isfinite(options_.slo); }
  EmbedQuery probe(uint64_t* tokens) const;
  void estimate(Candidate& candidate, const EmbedQuery& query, uint64_t tokens);
  void tune(uint64_t tokens, const EmbedQuery& query);
  double time_batch(EmbedDevice& device, const EmbedQuery& query, uint64_t count) const;

  const Machine& machine_;
  const SetupOptions& options_;
  const MakeQuery& make_query_;
  DeviceClock& clock_;
  const Listener& listener_;
  std::vector<Candidate> candidates_;
  std::shared_ptr<const Model> pool_model_;  // the first pool's; null without a pool
  std::vector<uint32_t> pus_;
  uint32_t context_ = 0;
  bool announced_ = false;
};

void Setup::make_others() {
  for (Candidate& candidate : candidates_) {
    if (candidate.pool() || candidate.gpu() != nullptr) continue;
    try {
      candidate.device = make_device(candidate.spec, clock_, {});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw;
      candidate.trouble = error.what();
    }
  }
}

// Calls `act` for each GPU without trouble. An Error that it throws becomes that GPU's trouble.
template <typename Act>
void Setup::for_each_gpu(const Act& act) {
  for (Candidate& candidate : candidates_) {
    if (candidate.gpu() == nullptr || !candidate.trouble.empty()) continue;
    try {
      act(candidate);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported && error.code() != ErrorCode::kResource) throw;
      candidate.trouble = error.what();
    }
  }
}

// Opens the GPUs. This comes first, since pools may be wanted only if no GPU can be used.
void Setup::open_gpus() {
  for_each_gpu([&](Candidate& candidate) {
    HEARTH_CHECK(options_.spec != nullptr, "a GPU has a model");
    candidate.accelerator = open_gpu(candidate.gpu()->name, *options_.spec);
  });
}

void Setup::make_gpus() {
  std::shared_ptr<const Model> model = pool_model_;
  std::shared_ptr<Model> own;
  for_each_gpu([&](Candidate& candidate) {
    if (model == nullptr) model = own = options_.load_model(gpu_engine());
    auto device = std::make_unique<GpuDevice>(candidate.spec.name, std::move(candidate.accelerator),
                                              model, gpu_engine(), options_.pools.embed);
    candidate.report.bits = bits_beside_cores(model->spec(), options_.isa);
    candidate.batch = device->batch_tokens();
    candidate.context = device->context();
    add_context(candidate.context);
    candidate.device = std::move(device);
  });
  if (own != nullptr) own->release_weights();
}

EngineOptions Setup::gpu_engine() const {
  PoolsOptions pools = options_.pools;
  pools.split = PoolSplit::kOne;
  return pool_engines(machine_, pools)[0];
}

void Setup::add_context(uint64_t context) {
  const auto own = static_cast<uint32_t>(context);
  context_ = context_ == 0 ? own : std::min(context_, own);
}

PoolsOptions Setup::pools_of(const DeviceSpec& spec) const {
  PoolsOptions pools = options_.pools;
  pools.name = spec.name;
  pools.where = pool_placement(spec, machine_, pools.where);
  if (uint32_t kept = host_cores(spec); kept > 0) {
    const uint32_t threads = default_thread_count(machine_, pools.where);
    const auto cores = static_cast<uint32_t>(machine_.allowed_core_count());
    pools.where.threads = std::min(threads, cores - kept);
  }
  return pools;
}

// Returns how many cores a pool of this spec leaves to accelerators; 0 if the user chose its cores.
uint32_t Setup::host_cores(const DeviceSpec& spec) const {
  if (!sits_anywhere(pool_placement(spec, machine_, options_.pools.where))) return 0;
  bool here = false;
  for (const Candidate& candidate : candidates_) {
    here = here || (candidate.report.queue && candidate.here());
  }
  if (!here) return 0;
  const auto cores = static_cast<uint32_t>(machine_.allowed_core_count());
  return std::min(options_.host_cores.value_or(cores / kHostShare), cores - 1);
}

// Announces the engines once, before the first model is loaded.
void Setup::announce_engines() {
  if (std::exchange(announced_, true)) return;
  std::vector<EngineOptions> engines;
  bool gpus = false;
  for (const Candidate& candidate : candidates_) {
    gpus = gpus || (candidate.gpu() != nullptr && candidate.trouble.empty());
    if (!candidate.pool() || !candidate.report.queue) continue;
    const std::vector<EngineOptions> own = pool_engines(machine_, pools_of(candidate.spec));
    engines.insert(engines.end(), own.begin(), own.end());
  }
  if (engines.empty() && gpus) engines.push_back(gpu_engine());
  if (options_.before_pools) options_.before_pools(engines);
}

// Makes those pools that would get a queue by the current state and are not made yet.
void Setup::make_pools(const MakeEngine& make_engine) {
  decide();
  announce_engines();
  std::vector<Candidate> all;
  for (Candidate& candidate : candidates_) {
    if (!candidate.pool() || !candidate.report.queue || candidate.device != nullptr) {
      all.push_back(std::move(candidate));
      continue;
    }
    candidate.report.host_cores = host_cores(candidate.spec);
    CpuPools made = make_cpu_pools(machine_, pools_of(candidate.spec), make_engine);
    if (made.nodes_rate > 0) {
      listener_.detail(fmt::format(
          "a pool of threads on every node computes {:.0f} tokens/s, one pool for all nodes {:.0f}",
          made.nodes_rate, made.one_rate));
    }
    for (std::unique_ptr<CpuPool>& pool : made.pools) {
      if (pool_model_ == nullptr) pool_model_ = pool->engine().model();
      Candidate own{candidate.spec, nullptr, candidate.report, {}};
      std::vector<uint32_t> pus = pool->engine().placement().pus();
      pus_.insert(pus_.end(), pus.begin(), pus.end());
      own.report.name = pool->name();
      std::sort(pus.begin(), pus.end());
      own.report.pus = std::move(pus);
      own.batch = pool->batch_tokens();
      own.context = pool->context();
      add_context(pool->context());
      own.device = std::move(pool);
      all.push_back(std::move(own));
    }
  }
  candidates_ = std::move(all);
}

// Checks that devices agree. Pools are compared first, then GPUs, then endpoints. Pools and GPUs
// compute the model file that the user named, and endpoints must agree with that.
void Setup::check_they_agree() {
  std::vector<EmbedDevice*> devices;
  std::vector<Candidate*> owners;
  for (int turn : {0, 1, 2}) {
    for (Candidate& candidate : candidates_) {
      if (!candidate.made() || candidate.turn() != turn) continue;
      devices.push_back(candidate.device.get());
      owners.push_back(&candidate);
    }
  }
  if (devices.size() < 2) return;
  std::vector<std::string> troubles = check_agreement(devices, make_query_);
  for (size_t i = 0; i < owners.size(); ++i) owners[i]->trouble = troubles[i];
}

// Returns a text of at least kProbeTokens tokens, or of as many as the context holds, and their
// number.
EmbedQuery Setup::probe(uint64_t* tokens) const {
  std::string text;
  EmbedQuery query;
  while (query.tokens.size() < kProbeTokens) {
    for (std::string_view part : agreement_texts()) {
      text += text.empty() ? "" : " ";
      text += part;
      EmbedQuery longer = make_query_(text);
      bool grew = longer.tokens.size() > query.tokens.size();
      query = std::move(longer);
      // A short context holds no more.
      if (query.tokens.size() >= kProbeTokens || !grew) break;
    }
    if (query.tokens.size() < kProbeTokens &&
        make_query_(text + " a").tokens.size() == query.tokens.size()) {
      break;
    }
  }
  *tokens = query_tokens(query);
  return query;
}

double Setup::time_batch(EmbedDevice& device, const EmbedQuery& query, uint64_t count) const {
  std::vector<const EmbedQuery*> batch(count, &query);
  double start = clock_.now();
  device.run(batch);
  return clock_.now() - start;
}

void Setup::estimate(Candidate& candidate, const EmbedQuery& query, uint64_t tokens) {
  EmbedDevice& device = *candidate.device;
  try {
    time_batch(device, query, 1);  // warms up
    EstimateOptions options;
    options.slo = options_.slo;
    Estimate estimate =
        estimate_depth([&](uint32_t count) { return time_batch(device, query, count); }, options);
    candidate.report.line = estimate.line.per(static_cast<double>(tokens));
    candidate.report.depth = estimate.depth;
    candidate.trouble = trouble_of_slo(estimate.line.seconds(1), options_.slo);
  } catch (const Error& error) {
    candidate.trouble = error.what();
  }
}

// Runs all devices that get a queue at once, until no reply is late.
void Setup::tune(uint64_t tokens, const EmbedQuery& query) {
  std::vector<Candidate*> queues;
  std::vector<DepthTuner::Device> devices;
  for (Candidate& candidate : candidates_) {
    if (!candidate.report.queue) continue;
    queues.push_back(&candidate);
    devices.push_back(
        {candidate.report.line.per(1.0 / static_cast<double>(tokens)), candidate.report.depth});
  }
  if (queues.size() > 1) {
    auto round = [&](const std::vector<uint64_t>& depths) {
      std::vector<std::future<double>> times;
      for (size_t i = 0; i < queues.size(); ++i) {
        times.push_back(std::async(std::launch::async, [&, i] {
          Candidate& one = *queues[i];
          if (!one.trouble.empty()) return 0.0;
          try {
            return time_batch(*one.device, query, std::max<uint64_t>(1, depths[i]));
          } catch (const Error& error) {
            one.trouble = error.what();
            return 0.0;
          }
        }));
      }
      std::vector<double> seconds;
      for (std::future<double>& time : times) seconds.push_back(time.get());
      return seconds;
    };
    std::vector<uint64_t> depths =
        tune_depths(devices, options_.slo, EstimateOptions{}.most, round);
    for (size_t i = 0; i < queues.size(); ++i) {
      queues[i]->report.depth = depths[i];
      if (depths[i] == 0) queues[i]->trouble = "one text takes too long while other devices run";
    }
  }
  for (Candidate* queue : queues) {
    queue->slots = std::max<uint64_t>(1, queue->report.depth) * tokens;
    queue->batch = queue->slots;
  }
}

void Setup::measure() {
  if (!has_objective()) return;
  uint64_t tokens = 0;
  EmbedQuery query = probe(&tokens);
  for (Candidate& candidate : candidates_) {
    if (candidate.made()) estimate(candidate, query, tokens);
  }
  decide();
  tune(tokens, query);
}

void Setup::decide() {
  std::vector<DeviceSight> sights;
  for (Candidate& candidate : candidates_) {
    // Reports print the device's name before its trouble, so the trouble need not repeat it.
    const std::string before = candidate.report.name + ": ";
    if (candidate.trouble.starts_with(before)) candidate.trouble.erase(0, before.size());
    sights.push_back({candidate.report.name, candidate.report.kind, candidate.trouble});
  }
  std::vector<QueueDecision> decisions = decide_queues(sights, options_.offload);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    candidates_[i].report.queue = decisions[i].queue;
    candidates_[i].report.why = decisions[i].why;
  }
}

EmbedSetup Setup::take() {
  decide();
  EmbedSetup setup;
  for (Candidate& candidate : candidates_) {
    if (candidate.report.queue && candidate.device != nullptr) {
      DeviceQueue queue{std::move(candidate.device), candidate.report.line, candidate.slots,
                        candidate.batch};
      if (queue.slots == 0) queue.slots = kBatchesAhead * candidate.batch + candidate.context;
      setup.texts = setup.texts || (!candidate.pool() && candidate.gpu() == nullptr);
      if (std::holds_alternative<SimOptions>(candidate.spec.what)) {
        listener_.warn(fmt::format(
            "{} is a simulation, and its vectors are meaningless: use it only to measure",
            candidate.report.name));
      }
      setup.queues.push_back(std::move(queue));
    } else if (!candidate.trouble.empty()) {
      listener_.warn(
          fmt::format("{} is not used: {}", candidate.report.name, candidate.report.why));
    }
    setup.reports.push_back(std::move(candidate.report));
  }
  setup.pus = std::move(pus_);
  setup.context = context_;
  return setup;
}

}  // namespace

void require_queue(const EmbedSetup& setup) {
  if (!setup.queues.empty()) return;
  fail(ErrorCode::kResource, "no device can be used: {}: {}", setup.reports[0].name,
       setup.reports[0].why);
}

PlacementOptions pool_placement(const DeviceSpec& spec, const Machine& machine,
                                PlacementOptions where) {
  for (const auto& [key, value] : std::get<PoolSpec>(spec.what).settings) {
    std::vector<uint32_t> numbers;
    if (key == "nodes" || key == "cpus" || key == "threads") {
      numbers = read_numbers(spec, key, value);
    }
    if (key == "nodes") {
      where.nodes.clear();
      for (uint32_t number : numbers) {
        std::optional<uint32_t> node = machine.node_numbered(number);
        if (!node) {
          fail(ErrorCode::kUsage, "device '{}': there is no NUMA node {}; this machine has {}",
               spec.text, number, machine.nodes.size());
        }
        where.nodes.push_back(*node);
      }
    } else if (key == "cpus") {
      where.pus = numbers;
    } else if (key == "threads" && numbers.size() == 1 && numbers[0] > 0) {
      where.threads = numbers[0];
    } else {
      fail(ErrorCode::kUsage,
           "device '{}': {}={} is not a setting of cpu: its settings are name, nodes, cpus and "
           "threads",
           spec.text, key, value);
    }
  }
  return where;
}

EmbedSetup set_up_devices(const Machine& machine, const SetupOptions& options,
                          const MakeEngine& make_engine, const MakeQuery& make_query,
                          DeviceClock& clock, const Listener& listener) {
  Setup setup(machine, options, make_query, clock, listener);
  setup.make_others();
  setup.open_gpus();
  setup.make_pools(make_engine);
  setup.make_gpus();
  setup.make_pools(make_engine);  // pools that are wanted since a GPU could not be made
  setup.check_they_agree();
  setup.measure();
  return setup.take();
}

}  // namespace hearth
