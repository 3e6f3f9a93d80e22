// hearth topo: shows the machine as this program sees it, and how it would use it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "accelerator/accelerator_file.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cli/topo_gpu.h"
#include "cli/topo_machine.h"
#include "cli/topo_plan.h"
#include "cli/topo_predict.h"
#include "cost/bandwidth_file.h"
#include "engine/engine_plan_json.h"

namespace hearth {
namespace {

struct TopoArgs {
  std::optional<std::string> machine;
  PlanArgs plan;
  std::optional<std::string> plan_out;
  bool bandwidth = false;
  std::optional<std::string> out, table, model;
  std::string weights = kStoredWeights;
  PredictArgs predict;
  PromptGpuArgs gpu;
  bool json = false;
};

// Everything that the verb prints, collected before the verb prints anything.
struct Findings {
  Machine machine;
  EnginePlan plan;
  std::optional<BandwidthTable> bandwidth;
  std::vector<Prediction> predictions;
  PredictArgs predict;
  std::optional<GpuPrediction> gpu;
};

GpuPrediction find_gpu(const TopoArgs& args, const Findings& found, MeasuredAccelerator gpu,
                       const BandwidthTable& table, const ModelSpec& model) {
  GpuPredictArgs how{.gpu = std::move(gpu)};
  how.plan = stream_plan_options(args.gpu);
  how.depth = found.predict.depth;
  return predict_gpu(found.machine, table, model, found.plan, how);
}

void write_plan(const std::string& path, const Findings& found) {
  EnginePlan plan = found.plan;
  if (found.gpu) {
    const StreamPlan& stream = found.gpu->plan;
    plan.stream = {stream.rows, stream.kept, stream.berths, found.gpu->threshold.value_or(0),
                   stream.experts};
  }
  AtomicFile file(path);
  const std::string text = engine_plan_text(found.machine, plan);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

Findings find_all(const TopoArgs& args) {
  Findings found{
      args.machine ? named_machine(*args.machine) : Machine::live(), {}, {}, {}, args.predict, {}};
  EngineOptions options;
  set_plan(found.machine, args.plan, &options);
  found.plan = plan_engine(found.machine, options);
  std::optional<MeasuredAccelerator> gpu;
  if (args.gpu.gpu) gpu = read_accelerator(*args.gpu.gpu);
  std::optional<OpenedModel> model;
  if (args.model) {
    model = open_named_model(*args.model, {}, false, TokenizerUse::kNone, ModelUse::kShape,
                             weight_policy_of(args.weights, {}));
    found.predict.encoder = model->spec.is_encoder();
    if (found.predict.encoder) found.predict.depth = 0;
  }
  if (args.table) {
    found.bandwidth = parse_bandwidth(read_text(*args.table), *args.table);
    check_bandwidth(*found.bandwidth, found.machine);
  } else if (args.bandwidth) {
    std::unique_ptr<AtomicFile> file;
    if (args.out) file = std::make_unique<AtomicFile>(*args.out);
    found.bandwidth = measure_with_progress(found.machine);
    if (file) write_bandwidth(*file, found.machine, *found.bandwidth);
  }
  if (!model) return found;
  if (!found.bandwidth) {
    print_note(
        "bandwidth is not known: 100 GB/s a node is assumed, less over distances; measure it with "
        "--bandwidth, or give --bandwidth-table");
  }
  BandwidthTable table = found.bandwidth ? *found.bandwidth : assumed_bandwidth(found.machine);
  found.predictions = predict(found.machine, table, model->spec, found.plan, found.predict);
  if (gpu) found.gpu = find_gpu(args, found, std::move(*gpu), table, model->spec);
  return found;
}

int topo(const TopoArgs& args) {
  Findings found = find_all(args);
  if (args.plan_out) write_plan(*args.plan_out, found);
  if (args.json) {
    Json json;
    json.object();
    json_machine(json, found.machine);
    json_plan(json, found.machine, found.plan);
    if (found.bandwidth) json_bandwidth(json.key("bandwidth"), found.machine, *found.bandwidth);
    if (!found.predictions.empty()) {
      json_predictions(json.key("prediction"), found.machine, found.predictions, found.predict);
    }
    if (found.gpu) json_gpu_prediction(json.key("gpu"), *found.gpu);
    write_stdout(json.end_object().line());
    return 0;
  }
  std::string out = machine_text(found.machine) + "\n" + plan_tree_text(found.machine, found.plan);
  if (found.bandwidth) out += "\n" + bandwidth_text(*found.bandwidth);
  if (!found.predictions.empty()) {
    out += "\n" + predictions_text(found.machine, found.predictions, found.predict);
  }
  if (found.gpu) out += "\n" + gpu_prediction_text(*found.gpu);
  write_stdout(out);
  return 0;
}

void add_gpu_predicting(CLI::App& verb, TopoArgs* args, CLI::Option* predict) {
  add_choice(verb, "--weights", &args->weights, weight_choices(),
             "With --predict: type to quantise the model's float weights to")
      ->needs(predict);
  CLI::Option* gpu = add_text(verb, "--gpu", &args->gpu.gpu, "FILE",
                              "With --predict: predict prompts streamed through the GPU that FILE "
                              "describes (see `hearth gpu --bench --save`)");
  gpu->needs(predict);
  for (CLI::Option* one : add_gpu_plan_options(verb, &args->gpu)) one->needs(gpu);
}

void add_measuring(CLI::App& verb, TopoArgs* args) {
  CLI::Option* measure = verb.add_flag("--bandwidth", args->bandwidth,
                                       "Measure how fast each NUMA node reads the memory of each");
  add_text(verb, "-o,--output", &args->out, "FILE",
           "With --bandwidth: write the measured table to FILE")
      ->needs(measure);
  add_text(verb, "--bandwidth-table", &args->table, "FILE",
           "Read the bandwidth table from FILE instead of measuring")
      ->excludes(measure);
  CLI::Option* predict = add_text(verb, "--predict", &args->model, "MODEL",
                                  "Predict a model's tokens a second, under this plan and others");
  take_model_name(predict);
  add_count(verb, "--depth", &args->predict.depth, 0, kMaxContext,
            "With --predict: tokens in the context before the one that is decoded")
      ->capture_default_str()
      ->needs(predict);
  add_count(verb, "--prompt", &args->predict.prompt, 1, EngineOptions{}.prefill_rows,
            "With --predict: tokens of the prefill step")
      ->capture_default_str()
      ->needs(predict);
  add_gpu_predicting(verb, args, predict);
}

}  // namespace

void add_topo(CLI::App& program, Action& action) {
  CLI::App& verb =
      *program.add_subcommand("topo", "Show nodes, caches, cores and thread placement");
  auto args = std::make_shared<TopoArgs>();
  add_text(verb, "--machine", &args->machine, "MACHINE",
           "Another machine: hwloc's XML file, or 'synthetic DESCRIPTION'");
  add_plan_options(verb, &args->plan, add_threads(verb, &args->plan));
  add_text(verb, "--write-plan", &args->plan_out, "FILE",
           "Write the plan to FILE, for --plan; with --gpu also how prompts are streamed");
  add_measuring(verb, args.get());
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth topo\n"
               "  hearth topo --machine server.xml --groups 2\n"
               "  hearth topo --nodes 0,2 --write-plan two-nodes.plan\n"
               "  hearth topo --machine 'synthetic pack:2 numa:2 l3:1 core:8 pu:2' --json\n"
               "  hearth topo --bandwidth -o server-bandwidth.json\n"
               "  hearth topo --predict model.gguf --bandwidth-table server-bandwidth.json\n"
               "  hearth topo --predict DeepSeek-V3/config.json --machine server.xml\n"
               "  hearth topo --predict Llama-3.1-70B/config.json --weights q4_k --gpu gpu.json");
  verb.callback([args, &action] { action = [args] { return topo(*args); }; });
}

}  // namespace hearth
