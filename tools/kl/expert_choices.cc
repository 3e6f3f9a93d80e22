// Counts how often two files of one model choose different experts for the same tokens.
//
//
//   expert_choices TRUTH MODEL TOKENS
//
// TOKENS are the ids of a prompt, separated by commas. Over all layers with experts and all
// positions, prints how many choose another set of experts in MODEL than in TRUTH, and how many of
// the chosen experts differ. Each layer gets the activations that the same file's earlier layers
// made.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/number_list.h"
#include "engine/engine_memory.h"
#include "engine/open_model.h"
#include "graph/executor.h"
#include "graph/ops/experts_op.h"

namespace hearth {
namespace {

// The chosen experts by layer and position, in ascending order.
using Choices = std::vector<std::vector<uint32_t>>;

// The prompt as a step. Its logits are not used, since the step ends at the last layer with
// experts.
struct Prompt {
  explicit Prompt(std::span<const int32_t> tokens)
      : positions(tokens.size()),
        row_items(tokens.size(), 0),
        pages(tokens.size() / kPagePositions + 1) {
    const auto rows = static_cast<uint32_t>(tokens.size());
    std::iota(positions.begin(), positions.end(), 0);
    std::iota(pages.begin(), pages.end(), 0);
    items = {{0, rows, 0, pages.data()}};
    outputs = {rows - 1};
    view = {tokens, positions, row_items, items, outputs, 1, {}, sampled};
  }

  std::vector<uint32_t> positions, row_items, pages, outputs;
  std::vector<uint8_t> sampled{0};
  std::vector<StepItem> items;
  StepView view;
};

Choices choices_of(const std::string& path, std::span<const int32_t> tokens) {
  const OpenedModel opened = open_model({path, {}, TokenizerUse::kNone, ModelUse::kText});
  const Machine machine = Machine::live();
  const Isa isa = available_isas(detect_cpu_features()).back();
  EngineOptions options;
  options.context = options.prefill_rows = static_cast<uint32_t>(tokens.size());
  options.outputs = 1;
  const EngineLayout layout = lay_out_engine(opened.spec, machine, isa, options);
  Team team(layout.plan.placement, {.pin_caller = true});
  Model model(
      opened.spec, machine,
      {layout.plan.shard_nodes, layout.plan.shares, options.binding(), layout.plan.experts});
  model.load(opened.source, team, layout.member_shards(), [](size_t) {});
  const EngineMemory memory(machine, layout, model);
  const Graph graph = build_graph(model.spec(), model.weights(), layout.plan.prefill,
                                  kernels_for(isa), layout.limits);
  ExecutionContext context(graph, memory.lane().prefill, memory.kv());
  Executor executor(team, graph.plan, memory.lane().scratch);
  const Prompt prompt(tokens);
  context.begin(prompt.view);

  Choices choices;
  uint32_t done = 0;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const auto* op = dynamic_cast<const ExpertsOp*>(graph.nodes[n].instances[0].get());
    if (op == nullptr) continue;
    executor.run_range(context, done, n + 1);
    done = n + 1;
    const ExpertChoices made = op->choices(context);
    for (uint32_t r = 0; r < made.rows; ++r) {
      const uint32_t* first = made.chosen + size_t{r} * made.used;
      choices.emplace_back(first, first + made.used);
    }
  }
  if (choices.empty()) fail(ErrorCode::kUsage, "'{}' has no experts", path);
  return choices;
}

void compare(const std::string& truth_path, const std::string& path, const std::string& words) {
  const auto ids = parse_number_list(words, ',', kMaxContext);
  if (!ids || ids->size() <= kFewRows) {
    fail(ErrorCode::kUsage, "'{}' is no list of more than {} token ids", words, kFewRows);
  }
  const std::vector<int32_t> tokens(ids->begin(), ids->end());
  const Choices truth = choices_of(truth_path, tokens), other = choices_of(path, tokens);
  if (truth.size() != other.size() || truth[0].size() != other[0].size()) {
    fail(ErrorCode::kUsage, "'{}' and '{}' are not the same model", truth_path, path);
  }
  size_t sets = 0, experts = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    std::vector<uint32_t> both;
    std::set_intersection(truth[i].begin(), truth[i].end(), other[i].begin(), other[i].end(),
                          std::back_inserter(both));
    const size_t differ = truth[i].size() - both.size();
    sets += differ > 0 ? 1 : 0;
    experts += differ;
  }
  const auto rows = static_cast<double>(truth.size());
  fmt::print("{} rows of {} layers: {:.2f} % choose another set, {:.2f} % of the chosen experts\n",
             truth.size(), truth.size() / tokens.size(), 100 * static_cast<double>(sets) / rows,
             100 * static_cast<double>(experts) / rows / static_cast<double>(truth[0].size()));
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() != 3) {
      hearth::fail(hearth::ErrorCode::kUsage, "usage: expert_choices TRUTH MODEL TOKENS");
    }
    hearth::compare(words[0], words[1], words[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "expert_choices: {}\n", error.what());
    return 1;
  }
  return 0;
}
