#include "kernels/gemm/schedule_text.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxSize = 1u << 24;     // of outputs and K
constexpr uint32_t kMaxThreads = 1u << 16;  // also of rows, and of matrices

// The words of a line, one after the other.
class Words {
 public:
  Words(std::string_view line, uint32_t number) : rest_(line), number_(number) {}

  std::string_view word(const char* what) {
    skip_spaces();
    if (rest_.empty()) fail(ErrorCode::kUsage, "schedule line {} ends before '{}'", number_, what);
    const size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  void expect(const char* wanted) {
    const std::string_view found = word(wanted);
    if (found != wanted) {
      fail(ErrorCode::kUsage, "schedule line {} has '{}' instead of '{}'", number_, shown(found),
           wanted);
    }
  }
  uint32_t number(const char* what, uint32_t least, uint32_t most) {
    const std::string_view found = word(what);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (error != std::errc() || end != found.data() + found.size() || value < least ||
        value > most) {
      fail(ErrorCode::kUsage, "schedule line {} has '{}' as its {}: give a number from {} to {}",
           number_, shown(found), what, least, most);
    }
    return value;
  }
  // Reads a number, or the word "any", which stands for `all`.
  uint32_t number_or_any(const char* what, uint32_t least, uint32_t most, uint32_t all) {
    skip_spaces();
    if (!rest_.starts_with("any")) return number(what, least, most);
    expect("any");
    return all;
  }
  // Skips the word if it comes next. Returns whether it did.
  bool has(std::string_view wanted) {
    skip_spaces();
    if (rest_.substr(0, rest_.find_first_of(" \t")) != wanted) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  template <typename T>
  T field(const char* what) {
    return static_cast<T>(number(what, 0, std::numeric_limits<T>::max()));
  }
  PackKind kind() {
    const std::string_view found = word("type");
    for (size_t i = 0; i < kPackKinds; ++i) {
      const auto kind = static_cast<PackKind>(i);
      if (found == pack_kind_name(kind)) return kind;
    }
    fail(ErrorCode::kUsage, "schedule line {} has the unknown type '{}'", number_, shown(found));
  }
  Cache cache() {
    const std::string_view found = word("cache");
    if (found != "l1" && found != "l2") {
      fail(ErrorCode::kUsage, "schedule line {} prefetches to '{}': give l1 or l2", number_,
           shown(found));
    }
    return found == "l1" ? Cache::kL1 : Cache::kL2;
  }
  void finish() {
    skip_spaces();
    if (!rest_.empty()) {
      fail(ErrorCode::kUsage, "schedule line {} has '{}' after its end", number_,
           shown(rest_.substr(0, rest_.find(' '))));
    }
  }

 private:
  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }
  // Returns the first 32 bytes of a word for an error text, with `?` for all but printable ASCII.
  static std::string shown(std::string_view word) {
    std::string text(word.substr(0, 32));
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }

  std::string_view rest_;
  uint32_t number_;
};

std::string sizes_text(const ProductShape& p) {
  if (p.is_any()) return "any any threads any";
  std::string text = fmt::format("{} {} ", p.outputs, p.k);
  if (p.matrices != 1 || p.of_experts != 0) text += fmt::format("matrices {} ", p.matrices);
  if (p.of_experts != 0) text += fmt::format("of {} ", p.of_experts);
  return text + fmt::format("threads {}", p.threads);
}

}  // namespace

void add_unnamed(std::span<const ScheduleEntry> others, std::vector<ScheduleEntry>* entries) {
  const std::vector<ScheduleEntry> named = *entries;
  for (const ScheduleEntry& entry : others) {
    if (std::ranges::find(named, entry.product, &ScheduleEntry::product) == named.end()) {
      entries->push_back(entry);
    }
  }
}

std::string schedule_text(const ScheduleEntry& entry) {
  const ProductShape& p = entry.product;
  const GemmSchedule& s = entry.schedule;
  const std::string rows = entry.max_rows == kAnyRows ? "any" : fmt::format("{}", entry.max_rows);
  return fmt::format(
      "schedule {} {} rows {} tile {} {} slice {} unpack {} prefetch {} {} parts {} task {} {}",
      pack_kind_name(p.kind), sizes_text(p), rows, s.tile_panels, s.tile_rows, s.slice,
      s.unpack_rows, s.prefetch, s.prefetch_to == Cache::kL1 ? "l1" : "l2", s.k_parts,
      s.task_panels, s.task_rows);
}

ScheduleEntry parse_schedule(std::string_view line, uint32_t number, SizesSaid said) {
  Words words(line, number);
  ScheduleEntry entry;
  ProductShape& p = entry.product;
  GemmSchedule& s = entry.schedule;
  words.expect("schedule");
  p.kind = words.kind();
  const bool or_any = said == SizesSaid::kOrAny;
  auto size = [&](const char* what, uint32_t least, uint32_t most, uint32_t all) {
    return or_any ? words.number_or_any(what, least, most, all) : words.number(what, least, most);
  };
  p.outputs = size("outputs", kPanelRows, kMaxSize, 0);
  p.k = size("K", kBlock, kMaxSize, 0);
  if (words.has("matrices")) {
    p.matrices = words.number("matrices", 1, kMaxThreads);
    if (words.has("of")) p.of_experts = words.number("experts", p.matrices, kMaxThreads);
  }
  words.expect("threads");
  p.threads = size("threads", 1, kMaxThreads, 0);
  words.expect("rows");
  entry.max_rows = size("rows", 1, kMaxThreads, kAnyRows);
  const bool side_by_side = p.matrices != 1 || p.of_experts != 0;
  if (p.is_any() ? side_by_side : p.outputs == 0 || p.k == 0 || p.threads == 0) {
    fail(ErrorCode::kUsage,
         "schedule line {} gives only some sizes: give all, or 'any any threads any'", number);
  }
  words.expect("tile");
  s.tile_panels = words.field<uint8_t>("tile");
  s.tile_rows = words.field<uint8_t>("tile");
  words.expect("slice");
  s.slice = words.field<uint16_t>("slice");
  words.expect("unpack");
  s.unpack_rows = words.field<uint16_t>("unpack");
  words.expect("prefetch");
  s.prefetch = words.field<uint16_t>("prefetch");
  s.prefetch_to = words.cache();
  words.expect("parts");
  s.k_parts = words.field<uint8_t>("parts");
  words.expect("task");
  s.task_panels = words.field<uint16_t>("task");
  s.task_rows = words.field<uint16_t>("task");
  words.finish();
  return entry;
}

}  // namespace hearth
