#include "kernels/processor_schedules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <tuple>

#include "base/embedded_file.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {

// Returns the files of schedules/. The build generates this function.
std::span<const EmbeddedFile> shipped_schedule_files();

namespace {

constexpr std::string_view kHead = "hearth-schedules 1";
constexpr std::string_view kAny = "any";
constexpr uint32_t kMaxNumber = std::numeric_limits<uint32_t>::max();

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return words;
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<uint32_t> number_of(std::string_view word) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<ProcessorSchedules::Numbers> numbers_of(std::string_view word) {
  if (word == kAny) return ProcessorSchedules::Numbers{};
  const bool all_above = word.ends_with('+');
  const std::optional<uint32_t> least =
      number_of(all_above ? word.substr(0, word.size() - 1) : word);
  if (!least) return std::nullopt;
  return ProcessorSchedules::Numbers{*least, all_above ? kMaxNumber : *least};
}

std::string numbers_text(const ProcessorSchedules::Numbers& numbers) {
  if (numbers == ProcessorSchedules::Numbers{}) return std::string(kAny);
  return fmt::format("{}{}", numbers.least, numbers.most == kMaxNumber ? "+" : "");
}

// Returns the vendor's name with each `from` replaced by `to`. This spells a vendor as one word and
// back, since some names have spaces ("  Shanghai  ").
std::string with_each(std::string vendor, char from, char to) {
  std::ranges::replace(vendor, from, to);
  return vendor;
}

std::string vendor_text(const std::string& vendor) {
  return vendor.empty() ? std::string(kAny) : with_each(vendor, ' ', '_');
}

// Reads a text line by line.
class SchedulesReader {
 public:
  explicit SchedulesReader(const std::string& name) : name_(name) {}

  ProcessorSchedules read(std::string_view text) {
    while (!text.empty()) {
      ++number_;
      const size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!named_) refuse("it names no processor");
    return std::move(read_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::kFile, "'{}' is not a table of schedules: {}", printable(name_), why);
  }

  void read_line(std::string_view line) {
    if (number_ == 1) {
      if (line != kHead) refuse(fmt::format("its first line is not '{}'", kHead));
      return;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return;
    const bool known = words[0] == "processor"  ? read_processor(words)
                       : words[0] == "isa"      ? read_level(words)
                       : words[0] == "attend"   ? read_places(words)
                       : words[0] == "schedule" ? read_schedules(words, line)
                                                : false;
    if (!known) {
      refuse(fmt::format("line {} is '{}', which is unknown", number_, printable(line)));
    }
  }

  bool read_processor(const std::vector<std::string_view>& words) {
    if (words.size() != 6 || words[2] != "family" || words[4] != "model") return false;
    const auto family = numbers_of(words[3]), model = numbers_of(words[5]);
    if (named_ || !family || !model) return false;
    named_ = true;
    if (words[1] != kAny) read_.vendor = with_each(std::string(words[1]), '_', ' ');
    read_.family = *family;
    read_.model = *model;
    return true;
  }

  bool read_level(const std::vector<std::string_view>& words) {
    if (words.size() != 2) return false;
    for (Isa isa : all_isas()) {
      if (words[1] != isa_name(isa)) continue;
      if (std::ranges::find(read_.levels, isa, &ProcessorSchedules::Level::isa) !=
          read_.levels.end()) {
        return false;
      }
      read_.levels.push_back({isa, 0, {}});
      return true;
    }
    return false;
  }

  bool read_places(const std::vector<std::string_view>& words) {
    if (words.size() != 3 || words[1] != "places" || read_.levels.empty()) return false;
    const std::optional<uint32_t> places = number_of(words[2]);
    if (places != 1u && places != 4u) return false;
    read_.levels.back().attend_places = *places;
    return true;
  }

  // Reads a line's schedule, as one entry for each kind that the line names.
  bool read_schedules(const std::vector<std::string_view>& words, std::string_view line) {
    if (words.size() < 2 || read_.levels.empty()) return false;
    const std::string_view rest(words[1].end(), line.end());
    std::string_view kinds = words[1];
    for (bool more = true; more;) {
      const size_t end = std::min(kinds.find(','), kinds.size());
      more = end < kinds.size();
      read_schedule(fmt::format("schedule {}{}", kinds.substr(0, end), rest));
      kinds.remove_prefix(end + (more ? 1 : 0));
    }
    return true;
  }

  void read_schedule(const std::string& line) {
    try {
      read_.levels.back().entries.push_back(parse_schedule(line, number_, SizesSaid::kOrAny));
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  const std::string& name_;
  uint32_t number_ = 0;
  bool named_ = false;
  ProcessorSchedules read_;
};

}  // namespace

bool ProcessorSchedules::is_for(const Processor& processor) const {
  return (vendor.empty() || vendor == processor.vendor) && family.has(processor.family) &&
         model.has(processor.model);
}

ProcessorSchedules parse_processor_schedules(std::string_view text, const std::string& name) {
  return SchedulesReader(name).read(text);
}

std::string processor_schedules_text(const ProcessorSchedules& schedules) {
  std::string text =
      fmt::format("{}\nprocessor {} family {} model {}\n", kHead, vendor_text(schedules.vendor),
                  numbers_text(schedules.family), numbers_text(schedules.model));
  for (const ProcessorSchedules::Level& level : schedules.levels) {
    text += fmt::format("isa {}\n", isa_name(level.isa));
    if (level.attend_places != 0) text += fmt::format("attend places {}\n", level.attend_places);
    for (const ScheduleEntry& entry : level.entries) text += schedule_text(entry) + "\n";
  }
  return text;
}

std::vector<ProcessorSchedules> shipped_processors() {
  std::vector<ProcessorSchedules> all;
  for (const EmbeddedFile& file : shipped_schedule_files()) {
    all.push_back(parse_processor_schedules(file.bytes, std::string(file.name)));
  }
  return all;
}

std::vector<ProcessorSchedules> schedules_for(const Processor& processor) {
  std::vector<ProcessorSchedules> found = shipped_processors();
  std::erase_if(found, [&](const ProcessorSchedules& each) { return !each.is_for(processor); });
  std::ranges::stable_sort(found, {}, [](const ProcessorSchedules& each) {
    return std::tuple(!each.vendor.empty(), each.family.least, each.model.least);
  });
  return found;
}

}  // namespace hearth
