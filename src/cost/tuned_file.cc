#include "cost/tuned_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fnv_hash.h"
#include "base/number_list.h"
#include "base/printable.h"
#include "kernels/gemm/schedule_text.h"

namespace hearth {
namespace {

constexpr const char* kHead = "hearth-tuned 1";
constexpr std::string_view kHeadWord = "hearth-tuned ";
constexpr std::string_view kConfirmed = "confirmed";
constexpr size_t kMaxLine = 4096, kMaxLines = 16384;

// Hashes numbers as text, so that their types make no difference.
template <typename... Numbers>
void add_numbers(FnvHash* hash, Numbers... numbers) {
  (hash->add(fmt::format("{}", numbers)), ...);
}

std::string hash_text(const FnvHash& hash) { return fmt::format("{:016x}", hash.value()); }

std::string topology_text(const Machine& machine) {
  FnvHash hash;
  for (const NumaNode& node : machine.nodes) {
    add_numbers(&hash, node.os_index, node.package, node.memory_allowed, node.memory_bytes > 0);
  }
  for (const LlcGroup& llc : machine.llcs) add_numbers(&hash, llc.node, llc.bytes);
  for (const Core& core : machine.cores) {
    add_numbers(&hash, core.package, core.node, core.llc, core.kind);
    for (uint32_t pu : core.pus) add_numbers(&hash, pu);
  }
  for (const std::vector<uint32_t>& row : machine.distances) {
    for (uint32_t distance : row) add_numbers(&hash, distance);
  }
  return fmt::format("{} packages, {} nodes, {} caches, {} cores, {}", machine.packages.size(),
                     machine.nodes.size(), machine.llcs.size(), machine.cores.size(),
                     hash_text(hash));
}

constexpr double kMinRatio = 1e-6, kMaxRatio = 1e6;

std::string ratio_text(const TimeRatio& of) {
  auto bound = [](double value) { return std::clamp(value, kMinRatio, kMaxRatio); };
  return fmt::format("{:.6g} {:.6g} {:.6g}", bound(of.ratio), bound(of.low), bound(of.high));
}

// Reads a text line by line, and a line word by word.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::kFile,
         "'{}' is not a file of tuned plans: {}; delete it with `hearth tune --remove`",
         printable(name_), why);
  }
  [[noreturn]] void refuse_line(const std::string& why) const {
    refuse(fmt::format("line {} {}", number_, why));
  }

  // Goes to the next line. Returns false at the end of the text.
  bool next() {
    if (at_ == text_.size()) return false;
    if (++number_ > kMaxLines) refuse(fmt::format("it has more than {} lines", kMaxLines));
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    line_ = text_.substr(at_, end - at_);
    if (line_.size() > kMaxLine) refuse_line(fmt::format("is longer than {} bytes", kMaxLine));
    at_ = std::min(end + 1, text_.size());
    rest_ = line_;
    return true;
  }
  std::string_view line() const { return line_; }

  // Returns the next word of the line, empty at its end.
  std::string_view word() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  std::string_view rest() const { return rest_; }
  void finish() const {
    if (!rest_.empty()) refuse_line("has too many words");
  }
  [[noreturn]] void refuse_unknown() const {
    refuse_line(fmt::format("is '{}', which is unknown", printable(line_)));
  }

  [[noreturn]] void refuse_unended() const { refuse("its last section has no end"); }

  template <typename Number>
  Number number(const char* what, Number least, Number most, int base = 10) {
    const std::string_view text = word();
    Number value{};
    std::from_chars_result end{};
    if constexpr (std::is_floating_point_v<Number>) {
      end = std::from_chars(text.data(), text.data() + text.size(), value);
    } else {
      end = std::from_chars(text.data(), text.data() + text.size(), value, base);
    }
    if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() ||
        !(value >= least && value <= most)) {
      refuse_line(fmt::format("has '{}' instead of {}", printable(text), what));
    }
    return value;
  }
  Phase phase() {
    const std::string_view text = word();
    for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
      if (text == phase_name(phase)) return phase;
    }
    refuse_line(fmt::format("has '{}' instead of prefill or decode", printable(text)));
  }
  TimeRatio ratio() {
    TimeRatio of;
    for (double* value : {&of.ratio, &of.low, &of.high}) {
      *value = number("a ratio", kMinRatio, kMaxRatio);
    }
    if (!(of.low <= of.ratio && of.ratio <= of.high))
      refuse_line("has a ratio outside of its interval");
    return of;
  }
  uint32_t trials() {
    if (word() != "trials") refuse_unknown();
    return number<uint32_t>("a number", 0, 1u << 30);
  }
  // Whether the line ends with that word. Files of earlier versions lack it.
  bool confirmed() {
    const std::string_view text = word();
    if (!text.empty() && text != kConfirmed) refuse_unknown();
    return text == kConfirmed;
  }
  // Returns the schedule in the rest of the line.
  ScheduleEntry schedule() {
    try {
      return parse_schedule(std::exchange(rest_, {}), static_cast<uint32_t>(number_));
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

 private:
  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0, number_ = 0;
  std::string_view line_, rest_;
};

// The result of reading a line in a section: the section does not know the line's key, the line was
// read, or all lines up to the section's end were read.
enum class LineRead : uint8_t { kUnknown, kYes, kToEnd };

LineRead read_plans_line(Reader& reader, std::string_view key, Tuned* tuned) {
  auto rows = [&] { return reader.number<uint32_t>("a number of rows", 1, 1u << 24); };
  if (key == "lengths") {
    if (!tuned->lengths.empty()) reader.refuse_line("repeats an entry");
    do {
      tuned->lengths.push_back(reader.number<uint32_t>("a number of tokens", 0, 1u << 24));
    } while (!reader.rest().empty());
  } else if (key == "anew") {
    tuned->anew = true;
  } else if (key == "phase") {
    TunedPhase& phase = tuned->phases.emplace_back();
    phase.phase = reader.phase();
    const std::string_view how = reader.word();
    if (how != "measured" && how != "predicted") reader.refuse_unknown();
    phase.measured = how == "measured";
    phase.cost = reader.ratio();
    phase.trials = reader.trials();
  } else if (key == "trial") {
    TunedTrial& trial = tuned->trials.emplace_back();
    trial.phase = reader.phase();
    trial.plan = reader.number<uint64_t>("a hash", 0, UINT64_MAX, 16);
    trial.cost = reader.ratio();
  } else if (key == "threshold") {
    if (tuned->threshold) reader.refuse_line("has a second threshold");
    TunedThreshold& threshold = tuned->threshold.emplace();
    threshold.rows = rows();
    threshold.cost = reader.ratio();
    threshold.trials = reader.trials();
  } else if (key == "threshold_trial") {
    ThresholdTrial& trial = tuned->threshold_trials.emplace_back();
    trial.rows = rows();
    trial.plans = reader.number<uint64_t>("a hash", 0, UINT64_MAX, 16);
    trial.cost = reader.ratio();
    if (reader.word() != "dearest") reader.refuse_unknown();
    trial.dearest = reader.number("a ratio", kMinRatio, kMaxRatio);
  } else if (key == "joint") {
    TunedJoint& joint = tuned->joints.emplace_back();
    joint.phase = reader.phase();
    joint.candidates = reader.number<uint64_t>("a hash", 0, UINT64_MAX, 16);
    joint.plan = reader.number<uint64_t>("a hash", 0, UINT64_MAX, 16);
    joint.cost = reader.ratio();
  } else if (key == "engine") {
    reader.finish();
    if (!tuned->engine_plan.empty()) reader.refuse_line("begins a second plan");
    while (reader.next() && reader.line() != "end") {
      tuned->engine_plan += std::string(reader.line()) + "\n";
    }
    if (reader.line() != "end") reader.refuse_unended();
    return LineRead::kToEnd;
  } else {
    return LineRead::kUnknown;
  }
  return LineRead::kYes;
}

std::string plans_text(const Tuned& tuned) {
  std::string text;
  if (!tuned.lengths.empty()) text += fmt::format("lengths {}\n", fmt::join(tuned.lengths, " "));
  if (tuned.anew) text += "anew\n";
  for (const TunedPhase& phase : tuned.phases) {
    text += fmt::format("phase {} {} {} trials {}\n", phase_name(phase.phase),
                        phase.measured ? "measured" : "predicted", ratio_text(phase.cost),
                        phase.trials);
  }
  for (const TunedTrial& trial : tuned.trials) {
    text += fmt::format("trial {} {:016x} {}\n", phase_name(trial.phase), trial.plan,
                        ratio_text(trial.cost));
  }
  if (const std::optional<TunedThreshold>& found = tuned.threshold) {
    text += fmt::format("threshold {} {} trials {}\n", found->rows, ratio_text(found->cost),
                        found->trials);
  }
  for (const ThresholdTrial& trial : tuned.threshold_trials) {
    text += fmt::format("threshold_trial {} {:016x} {} dearest {:.6g}\n", trial.rows, trial.plans,
                        ratio_text(trial.cost), std::clamp(trial.dearest, kMinRatio, kMaxRatio));
  }
  for (const TunedJoint& joint : tuned.joints) {
    text += fmt::format("joint {} {:016x} {:016x} {}\n", phase_name(joint.phase), joint.candidates,
                        joint.plan, ratio_text(joint.cost));
  }
  return tuned.engine_plan.empty() ? text : text + "engine\n" + tuned.engine_plan;
}

AttendSchedule read_attention(Reader& reader) {
  AttendSchedule schedule;
  schedule.places = reader.number<uint32_t>("a number of places", 0, 4);
  if (schedule.places == 2 || schedule.places == 3) reader.refuse_unknown();
  schedule.tasks = reader.number<uint32_t>("a number of tasks", 0, AttendSchedule::kMaxTasks);
  return schedule;
}

LineRead read_kernels_line(Reader& reader, std::string_view key, Tuned* tuned) {
  if (key == "product" || key == "other") {
    std::vector<TunedProduct>& all = key == "product" ? tuned->products : tuned->others;
    TunedProduct& product = all.emplace_back();
    product.cost = reader.ratio();
    product.trials = reader.trials();
    product.entry = reader.schedule();
  } else if (key == "attend") {
    if (tuned->attend) reader.refuse_line("repeats an entry");
    TunedAttend& attend = tuned->attend.emplace();
    attend.cost = reader.ratio();
    attend.trials = reader.trials();
    attend.schedule = read_attention(reader);
  } else if (key == "attend_tried") {
    if (!tuned->attend) reader.refuse_line("comes before the section on attention");
    tuned->attend->tried.push_back(read_attention(reader));
  } else if (key == "attend_confirmed") {
    if (!tuned->attend) reader.refuse_line("comes before the section on attention");
    if (!tuned->attend->confirmed.schedule.is_default()) reader.refuse_line("repeats an entry");
    tuned->attend->confirmed.cost = reader.ratio();
    tuned->attend->confirmed.schedule = read_attention(reader);
  } else if (key == "step") {
    TunedStep& step = tuned->steps.emplace_back();
    step.phase = reader.phase();
    step.size = reader.number<uint32_t>("a number", 1, 1u << 24);
    step.cost = reader.ratio();
    step.trials = reader.trials();
    step.confirmed = reader.confirmed();
  } else {
    return LineRead::kUnknown;
  }
  return LineRead::kYes;
}

std::string kernels_text(const Tuned& tuned) {
  std::string text;
  auto add = [&](const char* key, const TunedProduct& product) {
    text += fmt::format("{} {} trials {} {}\n", key, ratio_text(product.cost), product.trials,
                        schedule_text(product.entry));
  };
  for (const TunedProduct& product : tuned.products) add("product", product);
  for (const TunedProduct& product : tuned.others) add("other", product);
  if (const std::optional<TunedAttend>& attend = tuned.attend) {
    text += fmt::format("attend {} trials {} {} {}\n", ratio_text(attend->cost), attend->trials,
                        attend->schedule.places, attend->schedule.tasks);
    for (const AttendSchedule& one : attend->tried) {
      text += fmt::format("attend_tried {} {}\n", one.places, one.tasks);
    }
    const auto& [schedule, cost] = attend->confirmed;
    if (!schedule.is_default()) {
      text += fmt::format("attend_confirmed {} {} {}\n", ratio_text(cost), schedule.places,
                          schedule.tasks);
    }
  }
  for (const TunedStep& step : tuned.steps) {
    text += fmt::format("step {} {} {} trials {}", phase_name(step.phase), step.size,
                        ratio_text(step.cost), step.trials);
    text += step.confirmed ? fmt::format(" {}\n", kConfirmed) : "\n";
  }
  return text;
}

// A section of the file. `read_line` reads a line that begins with `key`. `text` returns the
// section's lines without its `end`, or an empty text if it has none.
struct Section {
  const char* name;
  LineRead (*read_line)(Reader& reader, std::string_view key, Tuned* tuned);
  std::string (*text)(const Tuned& tuned);
};
constexpr std::array kSections{Section{"plans", read_plans_line, plans_text},
                               Section{"kernels", read_kernels_line, kernels_text}};

// Reads the lines of a section up to its `end`.
void read_lines(Reader& reader, const Section& section, Tuned* tuned) {
  while (reader.next()) {
    const std::string_view key = reader.word();
    if (key == "end") return reader.finish();
    const LineRead read = section.read_line(reader, key, tuned);
    if (read == LineRead::kToEnd) return;
    if (read == LineRead::kUnknown) reader.refuse_unknown();
    reader.finish();
  }
  reader.refuse_unended();
}

void read_field(Reader& reader, TunedFields* fields) {
  const std::string name(reader.word());
  if (name.empty() || reader.rest().empty()) reader.refuse_line("lacks a name or a value");
  fields->emplace_back(name, reader.rest());
}

void read_section(Reader& reader, std::vector<std::string>* read, Tuned* tuned) {
  const std::string name(reader.word());
  reader.finish();
  if (std::find(read->begin(), read->end(), name) != read->end()) {
    reader.refuse_line("begins a section that an earlier line began");
  }
  read->push_back(name);
  for (const Section& section : kSections) {
    if (section.name == name) return read_lines(reader, section, tuned);
  }
  reader.refuse_unknown();
}

}  // namespace

TunedFields machine_fields(const Machine& machine, Isa isa) {
  // Hypervisors pad this name with blanks.
  std::string cpu = printable(machine.cpu_name);
  cpu.erase(cpu.find_last_not_of(' ') + 1);
  return {{"cpu", cpu.empty() ? "unknown" : cpu},
          {"isa", isa_name(isa)},
          {"topology", topology_text(machine)},
          {"pus", number_list_text(machine.allowed_pus)},
          {"quota", machine.cpu_quota ? fmt::format("{:.6g}", *machine.cpu_quota) : "none"},
          {"page_size", fmt::format("{}", sysconf(_SC_PAGESIZE))}};
}

TunedFields model_fields(const ModelSpec& spec) {
  FnvHash heads, matrices;
  std::string first;
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    std::string text;
    if (const auto* of = spec.block<AttentionBlock>(layer)) {
      text = fmt::format("{} for {} of keys", of->heads, of->kv_heads);
      add_numbers(&heads, of->heads, of->kv_heads, of->key_length, of->value_length, of->window);
    } else if (const auto* latent = spec.block<LatentBlock>(layer)) {
      text = fmt::format("{} for one of latents", latent->heads);
      add_numbers(&heads, latent->heads, latent->key_length, latent->value_length,
                  latent->kv_lora_rank, latent->rope.n_rot);
    } else if (const auto* delta = spec.block<DeltaBlock>(layer)) {
      add_numbers(&heads, delta->heads.keys, delta->heads.each, delta->length, delta->taps);
    } else if (const auto* conv = spec.block<ShortConvBlock>(layer)) {
      add_numbers(&heads, conv->taps);
    }
    if (first.empty()) first = text;
  }
  size_t count = 0;
  for (const WeightSpec& weight : spec.weights) {
    if (!weight.is_matrix()) continue;
    ++count;
    matrices.add(weight.packed.name());
    matrices.add(weight.member);
    add_numbers(&matrices, weight.layer, weight.rows, weight.k, static_cast<unsigned>(weight.cut),
                weight.expert);
  }
  return {{"layers", fmt::format("{}", spec.layers.size())},
          {"heads", fmt::format("{}, {}", first, hash_text(heads))},
          {"matrices", fmt::format("{}, {}", count, hash_text(matrices))}};
}

std::string fields_hash(const TunedFields& fields) {
  FnvHash hash;
  for (const auto& [name, value] : fields) {
    hash.add(name);
    hash.add(value);
  }
  return hash_text(hash);
}

std::string difference(const TunedFields& there, const TunedFields& here) {
  for (size_t i = 0; i < std::max(there.size(), here.size()); ++i) {
    if (i >= there.size()) return fmt::format("{} is missing there", here[i].first);
    if (i >= here.size() || there[i].first != here[i].first) {
      return fmt::format("{} is unknown here", printable(there[i].first));
    }
    if (there[i].second == here[i].second) continue;
    return fmt::format("{} is {} there and {} here", here[i].first, printable(there[i].second),
                       here[i].second);
  }
  return "";
}

std::string tuned_text(const Tuned& tuned) {
  std::string text = std::string(kHead) + "\n";
  for (const auto& [name, value] : tuned.machine)
    text += fmt::format("machine {} {}\n", name, value);
  for (const auto& [name, value] : tuned.model) text += fmt::format("model {} {}\n", name, value);
  for (const Section& section : kSections) {
    const std::string lines = section.text(tuned);
    if (!lines.empty()) text += fmt::format("section {}\n{}end\n", section.name, lines);
  }
  return text;
}

Tuned parse_tuned(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  if (text.size() > kMaxTunedBytes) reader.refuse("it is longer than 1 MiB");
  if (!reader.next() || !reader.line().starts_with(kHeadWord)) {
    reader.refuse(fmt::format("its first line is not '{}'", kHead));
  }
  if (reader.line() != kHead) {
    reader.refuse(fmt::format("its first line is '{}', and this version reads '{}'",
                              printable(reader.line()), kHead));
  }
  Tuned tuned;
  std::vector<std::string> read;
  while (reader.next()) {
    const std::string_view key = reader.word();
    if (key == "machine") {
      read_field(reader, &tuned.machine);
    } else if (key == "model") {
      read_field(reader, &tuned.model);
    } else if (key == "section") {
      read_section(reader, &read, &tuned);
    } else {
      reader.refuse_unknown();
    }
  }
  return tuned;
}

}  // namespace hearth
