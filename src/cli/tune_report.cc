#include "cli/tune_report.h"

#include <fmt/format.h>

#include "cli/topo_machine.h"
#include "formats/printable.h"
#include "text/json.h"

namespace hearth {
namespace {

const char* how(const TunedPhase& phase) { return phase.measured ? "measured" : "predicted"; }

// What is saved, as a part of the default's time.
std::string gain_text(const TunedPhase& phase) {
  auto percent = [](double cost) { return 100 * (1 - cost); };
  std::string text = fmt::format("{:.1f} %", percent(phase.cost.ratio));
  if (phase.measured && phase.cost.ratio < 1) {
    text += fmt::format(" ({:.1f} to {:.1f})", percent(phase.cost.high), percent(phase.cost.low));
  }
  return text;
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
  const uint32_t resting = plan.member_count() - plan.worker_count();
  return resting == 0 ? text : text + fmt::format(", {} rest{}", resting, resting == 1 ? "s" : "");
}

std::string outcomes_text(const std::vector<TuneOutcome>& outcomes) {
  std::string out;
  for (const TuneOutcome& of : outcomes) {
    const bool same = of.chosen.groups == of.start.groups;
    out += fmt::format("{}: {}\n", phase_name(of.result.phase), plan_words(of.start));
    if (same) {
      out += of.result.measured ? "  stays: no plan saves 1 % for certain\n"
                                : "  stays: none is predicted to be faster\n";
    } else {
      out += fmt::format("  now {}\n  saves {} of the time\n", plan_words(of.chosen),
                         gain_text(of.result));
    }
    out += fmt::format("  predicted: {} of {} of {} trees", of.evaluations,
                       count_text(of.plans, "plan"), of.trees);
    if (of.result.measured) out += fmt::format("; {}", count_text(of.result.trials, "trial"));
    out += "\n";
  }
  return out;
}

std::string outcomes_json(const std::vector<TuneOutcome>& outcomes, const std::string& path) {
  Json json;
  json.object().key("phases").array();
  for (const TuneOutcome& of : outcomes) {
    json.object().key("phase").text(phase_name(of.result.phase));
    json.key("default").text(plan_text(of.start)).key("chosen").text(plan_text(of.chosen));
    json.key("cost").real(of.result.cost.ratio).key("low").real(of.result.cost.low);
    json.key("high").real(of.result.cost.high).key("how").text(how(of.result));
    json.key("trials").number(of.result.trials).key("trees").number(of.trees);
    json.key("plans").number(of.plans).key("predicted").number(of.evaluations).end_object();
  }
  json.end_array().key("file");
  return (path.empty() ? json.null() : json.text(path)).end_object().line();
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
    out += fmt::format("  {}: saves {}, {}, {}\n", phase_name(phase.phase), gain_text(phase),
                       how(phase), count_text(phase.trials, "trial"));
  }
  if (entry.tuned->engine_plan.empty()) out += "  not finished: the next `hearth tune` goes on\n";
  return out;
}

}  // namespace hearth
