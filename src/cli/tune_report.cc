#include "cli/tune_report.h"

#include <fmt/format.h>

#include "base/count_text.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/topo_machine.h"
#include "kernels/gemm/schedule_text.h"

namespace hearth {
namespace {

const char* how(const TunedPhase& phase) { return phase.measured ? "measured" : "predicted"; }

// Returns as text which share of the default's time is saved.
std::string gain_text(const TimeRatio& cost, bool measured) {
  auto percent = [](double part) { return 100 * (1 - part); };
  std::string text = fmt::format("{:.1f} %", percent(cost.ratio));
  if (measured && cost.ratio < 1) {
    text += fmt::format(" ({:.1f} to {:.1f})", percent(cost.high), percent(cost.low));
  }
  return text;
}

std::string step_words(const TunedStep& step) {
  return step.phase == Phase::kPrefill ? fmt::format("a prompt of {}", step.size)
                                       : fmt::format("decode of {}", step.size);
}

void json_cost(Json& json, const TimeRatio& cost, uint32_t trials) {
  json.key("cost").real(cost.ratio).key("low").real(cost.low).key("high").real(cost.high);
  json.key("trials").number(trials);
}

void json_doubt(Json& json, const TuneDoubt& doubt) {
  json.key("undecided").number(doubt.open.count);
  if (!doubt.cpus) return;
  json.key("others_share").real(doubt.cpus->others);
  json.key("stolen_share").real(doubt.cpus->stolen);
}

// Returns "up to 32 rows".
std::string threshold_words(uint32_t rows) { return "up to " + count_text(rows, "row"); }

void json_kernels(Json& json, const Tuned& tuned) {
  json.key("products").array();
  for (const TunedProduct& product : tuned.products) {
    const ProductShape& shape = product.entry.product;
    json.object().key("type").text(pack_kind_name(shape.kind)).key("outputs").number(shape.outputs);
    json.key("k").number(shape.k).key("threads").number(shape.threads);
    json.key("matrices").number(shape.matrices).key("experts").number(shape.of_experts);
    json.key("rows").number(product.entry.max_rows);
    json_cost(json, product.cost, product.trials);
    json.key("schedule");
    product.entry.schedule.is_default() ? json.null() : json.text(schedule_text(product.entry));
    json.end_object();
  }
  json.end_array();
  if (const std::optional<TunedAttend>& attend = tuned.attend) {
    json.key("attention").object().key("places").number(attend->schedule.places);
    json.key("tasks").number(attend->schedule.tasks);
    json_cost(json, attend->cost, attend->trials);
    json.key("confirmed").boolean(attend->confirmed.schedule == attend->schedule).end_object();
  }
  json.key("steps").array();
  for (const TunedStep& step : tuned.steps) {
    json.object().key("phase").text(phase_name(step.phase)).key("size").number(step.size);
    json_cost(json, step.cost, step.trials);
    json.key("confirmed").boolean(step.confirmed).end_object();
  }
  json.end_array();
}

// Whether plans were begun, and something of them is left.
bool left_unfinished(const Tuned& tuned) {
  const bool begun = !tuned.phases.empty() || !tuned.trials.empty();
  return tuned.anew || (begun && !(tuned.threshold && !tuned.engine_plan.empty()));
}

void json_fields(Json& json, const TunedFields& fields) {
  json.object();
  for (const auto& [name, value] : fields) json.key(name).text(value);
  json.end_object();
}

void json_stored(Json& json, const Tuned& tuned) {
  json.key("model");
  json_fields(json, tuned.model);
  json.key("machine");
  json_fields(json, tuned.machine);
  json.key("phases").array();
  for (const TunedPhase& phase : tuned.phases) {
    json.object().key("phase").text(phase_name(phase.phase));
    json_cost(json, phase.cost, phase.trials);
    json.key("how").text(how(phase)).end_object();
  }
  json.end_array();
  if (const std::optional<TunedThreshold>& found = tuned.threshold) {
    json.key("threshold").object().key("rows").number(found->rows);
    json_cost(json, found->cost, found->trials);
    json.end_object();
  }
  json_kernels(json, tuned);
  json.key("finished").boolean(!left_unfinished(tuned)).key("engine_plan");
  tuned.engine_plan.empty() ? json.null() : json.text(tuned.engine_plan);
}

// Returns "q8_0 768 x 2048 of each of 8 experts", the shape that a thread computes.
std::string product_words(const ProductShape& shape) {
  std::string words = fmt::format("{} {} x {}", pack_kind_name(shape.kind), shape.outputs, shape.k);
  if (shape.of_experts != 0) {
    words += fmt::format(" of each of {}", count_text(shape.matrices, "expert"));
  } else if (shape.matrices > 1) {
    words += fmt::format(" of each of {}", count_text(shape.matrices, "head"));
  }
  return words;
}

}  // namespace

std::string plan_words(const Plan& plan) {
  uint32_t least = UINT32_MAX, most = 0;
  for (const PlanGroup& group : plan.groups) {
    least = std::min(least, group.size());
    most = std::max(most, group.size());
  }
  const std::string sizes =
      least == most ? count_text(most, "thread") : fmt::format("{} to {} threads", least, most);
  std::string text = fmt::format("{} of {}", count_text(plan.group_count(), "group"), sizes);
  if (plan.group_count() > 1 && plan.sync == GroupSync::kLockstep) text += ", in lockstep";
  const uint32_t resting = plan.member_count() - plan.worker_count();
  return resting == 0 ? text : text + fmt::format(", {} rest{}", resting, resting == 1 ? "s" : "");
}

std::string doubt_text(const TuneDoubt& doubt, const char* what) {
  // If other programs or the host took at least this share of CPU time, the report names that as a
  // reason.
  constexpr double kMuch = 0.02;
  if (doubt.open.count == 0) return {};
  std::string why;
  auto add = [&](const char* form, double share) {
    if (share < kMuch) return;
    why += (why.empty() ? "" : ", ") + fmt::format(fmt::runtime(form), 100 * share);
  };
  if (doubt.cpus) {
    add("other programs had {:.0f} % of the CPUs", doubt.cpus->others);
    add("the host took {:.0f} % of the CPUs away", doubt.cpus->stolen);
  }
  if (why.empty()) why = "trials scatter too much";
  return fmt::format("  not decided: {} may save up to {}: {}\n",
                     count_text(doubt.open.count, what), gain_text(doubt.open.cost, true), why);
}

std::string outcomes_text(const std::vector<TuneOutcome>& outcomes) {
  std::string out;
  for (const TuneOutcome& of : outcomes) {
    const bool same = of.chosen.groups == of.start.groups && of.chosen.sync == of.start.sync;
    out += fmt::format("{}: {}\n", phase_name(of.result.phase), plan_words(of.start));
    if (same) {
      out += of.result.measured ? "  stays: no plan saves 1 % for certain\n"
                                : "  stays: none is predicted to be faster\n";
    } else {
      out += fmt::format("  now {}\n  saves {} of the time\n", plan_words(of.chosen),
                         gain_text(of.result.cost, of.result.measured));
    }
    if (of.threshold && of.threshold->rows != of.start.max_rows) {
      out += fmt::format("  steps of {} are decode's, now {}: saves {} of the time\n",
                         threshold_words(of.start.max_rows), threshold_words(of.threshold->rows),
                         gain_text(of.threshold->cost, true));
    } else if (of.threshold) {
      out += fmt::format("  steps of {} are decode's, which stays\n",
                         threshold_words(of.start.max_rows));
    }
    out += doubt_text(of.doubt, "plan");
    out += fmt::format("  predicted: {} of {} of {} trees", of.evaluations,
                       count_text(of.plans, "plan"), of.trees);
    const uint32_t trials = of.result.trials + (of.threshold ? of.threshold->trials : 0);
    if (of.result.measured) out += fmt::format("; {}", count_text(trials, "trial"));
    out += "\n";
  }
  return out;
}

std::string kernels_text(const Tuned& tuned, bool all) {
  size_t found = 0;
  uint64_t trials = 0;
  std::string lines;
  for (const TunedProduct& product : tuned.products) {
    const bool gains = !product.entry.schedule.is_default();
    found += gains ? 1 : 0;
    trials += product.trials;
    if (!all) continue;
    lines += fmt::format("  {}, {}: {}\n", product_words(product.entry.product),
                         count_text(product.entry.max_rows, "row"),
                         gains ? "saves " + gain_text(product.cost, true) : "stays");
  }
  std::string out =
      fmt::format("kernels, measured: {} of {} changed; {}\n", found,
                  count_text(tuned.products.size(), "schedule"), count_text(trials, "trial"));
  for (const TunedStep& step : tuned.steps) {
    out += "  " + step_words(step);
    out += step.cost == TimeRatio()
               ? " stays with the default schedules\n"
               : fmt::format(" saves {} of the time\n", gain_text(step.cost, true));
  }
  if (tuned.attend && !tuned.attend->schedule.is_default()) {
    out += fmt::format("  attention in decode: saves {} of the time\n",
                       gain_text(tuned.attend->cost, true));
  }
  return out + lines;
}

std::string outcomes_json(const TuningResult& result, bool kernels) {
  Json json;
  json.object().key("phases").array();
  for (const TuneOutcome& of : result.outcomes) {
    json.object().key("phase").text(phase_name(of.result.phase));
    json.key("default").text(plan_text(of.start)).key("chosen").text(plan_text(of.chosen));
    json.key("sync").text(group_sync_name(of.chosen.sync));
    json_cost(json, of.result.cost, of.result.trials);
    json.key("how").text(how(of.result)).key("trees").number(of.trees);
    json.key("plans").number(of.plans).key("predicted").number(of.evaluations);
    json_doubt(json, of.doubt);
    if (of.threshold) {
      json.key("threshold").object().key("default").number(of.start.max_rows);
      json.key("chosen").number(of.threshold->rows);
      json_cost(json, of.threshold->cost, of.threshold->trials);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  if (kernels) {
    json_kernels(json, result.tuned);
    json.key("kernels").object();
    json_doubt(json, result.kernels);
    json.end_object();
  }
  json.key("left").array();
  for (const std::string& what : result.left) json.text(what);
  json.end_array().key("file");
  return (result.path.empty() ? json.null() : json.text(result.path)).end_object().line();
}

std::string stored_text(const TunedStore::Entry& entry) {
  std::string out = printable(entry.path, 400) + "\n";
  if (!entry.tuned) return out + "  " + entry.fault + "\n";
  auto fields = [&](const char* of, const TunedFields& all) {
    for (const auto& [name, value] : all) {
      out += fmt::format("  {} {}: {}\n", of, printable(name), printable(value));
    }
  };
  fields("model", entry.tuned->model);
  fields("machine", entry.tuned->machine);
  for (const TunedPhase& phase : entry.tuned->phases) {
    out += fmt::format("  {}: saves {}, {}, {}\n", phase_name(phase.phase),
                       gain_text(phase.cost, phase.measured), how(phase),
                       count_text(phase.trials, "trial"));
  }
  if (const std::optional<TunedThreshold>& found = entry.tuned->threshold) {
    out += fmt::format("  steps of {} are decode's: saves {}, measured, {}\n",
                       threshold_words(found->rows), gain_text(found->cost, true),
                       count_text(found->trials, "trial"));
  }
  if (!entry.tuned->products.empty()) out += "  " + kernels_text(*entry.tuned, false);
  if (left_unfinished(*entry.tuned)) {
    out += "  not finished: run `hearth tune` again to continue\n";
  }
  return out;
}

std::string stored_json(const std::vector<TunedStore::Entry>& entries) {
  Json json;
  json.object().key("results").array();
  for (const TunedStore::Entry& entry : entries) {
    json.object().key("file").text(entry.path).key("fault");
    entry.fault.empty() ? json.null() : json.text(entry.fault);
    if (entry.tuned) json_stored(json, *entry.tuned);
    json.end_object();
  }
  return json.end_array().end_object().line();
}

}  // namespace hearth
