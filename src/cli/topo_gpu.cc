#include "cli/topo_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bytes_text.h"
#include "base/error.h"
#include "hybrid/described_target.h"

namespace hearth {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint32_t kFewest = 16, kFirstPrompt = 512, kLastPrompt = 32768;
// The number of step sizes whose time on the cores is predicted; other times are interpolated.
constexpr uint32_t kStepsAsked = 9;

// Predicts the time to a prompt's first token with only the cores.
class Cores {
 public:
  Cores(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
        const EnginePlan& plan)
      : machine_(machine), table_(table), model_(model), plan_(plan) {}

  // Returns the seconds for a prompt: the sum of steps with the most rows, and one with the
  // remaining rows.
  double prompt(uint32_t tokens) const {
    const uint32_t rows = plan_.prefill.max_rows, whole = tokens / rows, rest = tokens % rows;
    double seconds = rest > 0 ? step(Phase::kPrefill, rest, whole * rows) : 0;
    if (whole == 0) return seconds;
    const uint32_t asked = std::min(whole, kStepsAsked);
    double sum = 0;
    for (uint32_t i = 0; i < asked; ++i) {
      const uint32_t at = asked == 1 ? 0 : i * (whole - 1) / (asked - 1);
      sum += step(Phase::kPrefill, rows, at * rows);
    }
    return seconds + sum / asked * whole;
  }
  double last_token(uint32_t depth) const { return step(Phase::kDecode, 1, depth); }
  // Returns the cost of decoding a token if decoding gets only the part `left` of the memory's
  // bandwidth.
  StepCost decode(uint32_t depth, double left) const {
    BandwidthTable table = table_;
    for (std::vector<double>& rates : table.read) {
      for (double& rate : rates) rate *= left;
    }
    return cost(table, Phase::kDecode, 1, depth);
  }

 private:
  StepCost cost(const BandwidthTable& table, Phase phase, uint32_t rows, uint32_t depth) const {
    PlacedPlan placed{plan_.of(phase), plan_.placement, plan_.shard_nodes, plan_.shares};
    placed.experts = plan_.experts;
    return predict_step(machine_, table, model_, placed, {rows, depth});
  }
  double step(Phase phase, uint32_t rows, uint32_t depth) const {
    return cost(table_, phase, rows, depth).seconds;
  }

  const Machine& machine_;
  const BandwidthTable& table_;
  const ModelSpec& model_;
  const EnginePlan& plan_;
};

// Returns the machine's memory bandwidth in bytes a second: each node reading its own memory.
double memory_rate(const BandwidthTable& table) {
  double rate = 0;
  for (size_t node = 0; node < table.read.size(); ++node) rate += table.read[node][node];
  return rate;
}

// Predicts a prompt on the GPU: passes over all tokens but the last, which is a step of the cores.
GpuPrediction::Prompt on_gpu(PassClock& clock, const StreamPlan& plan, const Cores& cores,
                             uint32_t tokens) {
  GpuPrediction::Prompt prompt{.tokens = tokens, .cores_seconds = cores.prompt(tokens)};
  for (uint32_t done = 0; done + 1 < tokens;) {
    const uint32_t rows = std::min(plan.rows, tokens - 1 - done);
    const PassFigures pass = clock.figures(rows, done);
    prompt.passes.seconds += pass.seconds;
    prompt.passes.computing_seconds += pass.computing_seconds;
    prompt.passes.copying_seconds += pass.copying_seconds;
    prompt.passes.bytes_in += pass.bytes_in;
    prompt.passes.bytes_out += pass.bytes_out;
    done += rows;
  }
  prompt.gpu_seconds = prompt.passes.seconds + cores.last_token(tokens - 1);
  return prompt;
}

// Returns the fewest tokens of a one-pass prompt that is faster on the GPU.
std::optional<uint32_t> threshold_of(const PassTime& passes, const Cores& cores, uint32_t most) {
  const auto sooner = [&](uint32_t tokens) {
    return passes.seconds(tokens - 1) + cores.last_token(tokens - 1) < cores.prompt(tokens);
  };
  uint32_t slow = kFewest / 2, fast = kFewest;
  while (!sooner(fast)) {
    if (fast == most) return std::nullopt;
    slow = fast;
    fast = std::min(fast * 2, most);
  }
  while (fast > kFewest && fast - slow > 1) {
    const uint32_t middle = slow + (fast - slow) / 2;
    (sooner(middle) ? fast : slow) = middle;
  }
  return fast;
}

// Predicts passes of few and of all rows with other numbers of berths, even if these do not fit.
std::vector<GpuPrediction::Berths> berths_of(const PassTarget& target,
                                             const MeasuredAccelerator& gpu, const StreamPlan& plan,
                                             uint32_t layers, const TimedOptions& options) {
  std::vector<GpuPrediction::Berths> all;
  const uint32_t streamed = layers - plan.kept;
  for (const uint32_t berths : {1U, 2U, 4U, streamed}) {
    if (berths > streamed || (!all.empty() && all.back().berths >= berths)) continue;
    StreamPlan other = plan;
    other.berths = berths;
    PassClock clock(target, gpu, other, options);
    const uint32_t few = std::min(kFirstPrompt, plan.rows);
    all.push_back({few, berths, clock.seconds(few)});
    if (few < plan.rows) all.push_back({plan.rows, berths, clock.seconds(plan.rows)});
  }
  return all;
}

// Returns how fast decoding and a pass are, each by itself and both at once. Assumes that copies
// take the link's whole rate from the host's memory, and that decoding takes the rate at which it
// reads when nothing is copied.
GpuPrediction::Beside beside_of(const GpuPrediction& prediction, const PassTarget& target,
                                const MeasuredAccelerator& gpu, const Cores& cores,
                                uint32_t depth) {
  // Decoding always keeps some of the memory's rate, as in the virtual time of a described GPU.
  const double left = std::max(1 - prediction.link_rate / prediction.memory_rate, 1.0 / 16);
  const StepCost alone = cores.decode(depth, 1), decode = cores.decode(depth, left);
  GpuPrediction::Beside beside{.depth = depth,
                               .rows = std::min(prediction.plan.rows, prediction.context),
                               .decode_rate = alone.tokens_per_second,
                               .decode_left = decode.tokens_per_second};
  TimedOptions host{.host_bytes_per_second = prediction.memory_rate};
  beside.pass_seconds = PassClock(target, gpu, prediction.plan, host).seconds(beside.rows);
  host.host_taken = (alone.local_bytes() + alone.remote_bytes()) / alone.seconds;
  try {
    beside.pass_left = PassClock(target, gpu, prediction.plan, host).seconds(beside.rows);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    beside.pass_left = kNever;
  }
  return beside;
}

std::string seconds_text(double seconds) {
  return std::isinf(seconds) ? "never" : fmt::format("{:.2f} s", seconds);
}

std::string beside_text(const GpuPrediction::Beside& of) {
  return fmt::format(
      "decode beside such a pass: {:.1f} in place of {:.1f} tokens/s ({:+.0f} %); a pass of {} "
      "rows "
      "beside decode: {} in place of {}\n",
      of.decode_left, of.decode_rate, 100 * (of.decode_left / of.decode_rate - 1), of.rows,
      seconds_text(of.pass_left), seconds_text(of.pass_seconds));
}

void json_seconds(Json& json, const char* key, double seconds) {
  json.key(key);
  if (std::isinf(seconds)) {
    json.null();
  } else {
    json.real(seconds);
  }
}

void json_beside(Json& json, const std::optional<GpuPrediction::Beside>& of) {
  json.key("beside");
  if (!of) {
    json.null();
    return;
  }
  json.object().key("depth").number(of->depth).key("rows").number(of->rows);
  json.key("decode_tokens_per_second").real(of->decode_rate);
  json.key("decode_tokens_per_second_left").real(of->decode_left);
  json_seconds(json, "pass_seconds", of->pass_seconds);
  json_seconds(json, "pass_seconds_left", of->pass_left);
  json.end_object();
}

}  // namespace

GpuPrediction predict_gpu(const Machine& machine, const BandwidthTable& table,
                          const ModelSpec& model, const EnginePlan& plan,
                          const GpuPredictArgs& args) {
  const AcceleratorRates& rates = args.gpu.rates;
  const uint32_t longest = std::max(kLastPrompt, args.plan.rows);
  GpuPrediction prediction{.name = args.gpu.facts.name,
                           .layers = static_cast<uint32_t>(model.layers.size()),
                           .context = std::clamp(model.hyper.context, kFirstPrompt, longest)};
  const ModelPlacement placement{plan.shard_nodes, plan.shares, Binding::kNode, plan.experts};
  const DescribedTarget described(model, machine, placement, KvType::kF16, prediction.context);
  const PassTarget& target = described.target();
  prediction.memory_rate = memory_rate(table);
  prediction.link_rate = (rates.import_to ? *rates.import_to : rates.write).per_second.median;
  const TimedOptions host{.host_bytes_per_second = prediction.memory_rate};
  prediction.plan = plan_stream_by_time(target, args.gpu, args.plan, host);
  const Cores cores(machine, table, model, plan);
  const PassTime passes(target, args.gpu, prediction.plan, host);
  prediction.threshold =
      threshold_of(passes, cores, std::min(prediction.plan.rows, prediction.context));
  PassClock clock(target, args.gpu, prediction.plan, host);
  bool lost = false;
  for (uint32_t tokens = kFirstPrompt; tokens <= prediction.context; tokens *= 2) {
    GpuPrediction::Prompt& prompt = prediction.prompts.emplace_back();
    lost = lost || std::isinf(passes.seconds(std::min(tokens - 1, prediction.plan.rows)));
    try {
      if (!lost) prompt = on_gpu(clock, prediction.plan, cores, tokens);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResource) throw;
      lost = true;
    }
    if (lost) prompt = {tokens, kNever, cores.prompt(tokens), {}};
  }
  if (!lost && prediction.plan.berths > 0) {
    prediction.berths = berths_of(target, args.gpu, prediction.plan, prediction.layers, host);
    prediction.beside = beside_of(prediction, target, args.gpu, cores, args.depth);
  }
  return prediction;
}

std::string gpu_prediction_text(const GpuPrediction& prediction) {
  std::string out = fmt::format("predicted through {}: {}\n", prediction.name,
                                stream_plan_text(prediction.plan, prediction.layers));
  out += fmt::format("{:>10} {:>13} {:>13} {:>11} {:>11} {:>11}\n", "prompt", "by the GPU",
                     "by the cores", "computing", "copying", "copied");
  for (const GpuPrediction::Prompt& prompt : prediction.prompts) {
    const auto copied = bytes_text(prompt.passes.bytes_in + prompt.passes.bytes_out);
    const bool ends = !std::isinf(prompt.gpu_seconds);
    out +=
        fmt::format("{:>10} {:>13} {:>13} {:>11} {:>11} {:>11}\n", prompt.tokens,
                    seconds_text(prompt.gpu_seconds), seconds_text(prompt.cores_seconds),
                    ends ? seconds_text(prompt.passes.computing_seconds) : "-",
                    ends ? seconds_text(prompt.passes.copying_seconds) : "-", ends ? copied : "-");
  }
  out += prediction.threshold
             ? fmt::format("sooner by the GPU from {} tokens on\n", *prediction.threshold)
             : fmt::format("no prompt of a pass is sooner by the GPU\n");
  for (const GpuPrediction::Berths& one : prediction.berths) {
    out += fmt::format("a pass of {} rows with {} berth{}: {}\n", one.rows, one.berths,
                       one.berths == 1 ? "" : "s", seconds_text(one.seconds));
  }
  const double left = std::max(0.0, prediction.memory_rate - prediction.link_rate);
  out += fmt::format(
      "while layers are copied, {:.0f} of {:.0f} GB/s of the host's memory are left for decoding\n",
      left * 1e-9, prediction.memory_rate * 1e-9);
  return prediction.beside ? out + beside_text(*prediction.beside) : out;
}

void json_gpu_prediction(Json& json, const GpuPrediction& prediction) {
  const StreamPlan& plan = prediction.plan;
  json.object().key("name").text(prediction.name).key("context").number(prediction.context);
  json.key("rows").number(plan.rows).key("pages").number(plan.pages);
  json.key("layers").number(prediction.layers).key("layers_kept").number(plan.kept);
  json.key("berths").number(plan.berths).key("berth_bytes").number(plan.berth_bytes);
  json.key("experts").number(plan.experts).key("expert_bytes").number(plan.expert_bytes);
  json.key("bytes_in_flight").number(plan.bytes_in_flight());
  json.key("memory_bytes").number(plan.bytes());
  json.key("threshold");
  if (prediction.threshold) {
    json.number(*prediction.threshold);
  } else {
    json.null();
  }
  json.key("host_bytes_per_second").real(prediction.memory_rate);
  json.key("link_bytes_per_second").real(prediction.link_rate);
  json.key("prompts").array();
  for (const GpuPrediction::Prompt& prompt : prediction.prompts) {
    json.object().key("tokens").number(prompt.tokens);
    json_seconds(json, "gpu_seconds", prompt.gpu_seconds);
    json_seconds(json, "cores_seconds", prompt.cores_seconds);
    json_seconds(json, "computing_seconds", prompt.passes.computing_seconds);
    json_seconds(json, "copying_seconds", prompt.passes.copying_seconds);
    json.key("bytes_in").number(prompt.passes.bytes_in);
    json.key("bytes_out").number(prompt.passes.bytes_out).end_object();
  }
  json.end_array().key("passes_by_berths").array();
  for (const GpuPrediction::Berths& one : prediction.berths) {
    json.object()
        .key("rows")
        .number(one.rows)
        .key("berths")
        .number(one.berths)
        .key("seconds")
        .real(one.seconds)
        .end_object();
  }
  json.end_array();
  json_beside(json, prediction.beside);
  json.end_object();
}

}  // namespace hearth
