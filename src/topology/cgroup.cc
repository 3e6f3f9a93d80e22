#include "topology/cgroup.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The hierarchy of a controller: the process's own directory and those above it, up to the mount
// point.
using Levels = std::vector<fs::path>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Decodes mountinfo's \ooo for space, tab, newline and backslash.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(&text[i + 1], &text[i + 4], [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
    i += 3;
  }
  return out;
}

struct Mount {
  std::string root, point;
};

// Finds the mount of the hierarchy that has `controller`, or of version 2's hierarchy if
// `controller` is empty.
std::optional<Mount> find_mount(const fs::path& root, std::string_view controller) {
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::vector<std::string> before = split(line.substr(0, dash), ' ');
    std::vector<std::string> after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    bool match = controller.empty()
                     ? after[0] == "cgroup2"
                     : after[0] == "cgroup" && contains(split(after[2], ','), controller);
    if (match) return Mount{unescape(before[3]), unescape(before[4])};
  }
  return {};
}

// Returns this process's path in the hierarchy of `controller`, from /proc/self/cgroup.
std::optional<std::string> find_path(const fs::path& root, std::string_view controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool match =
        controller.empty() ? controllers.empty() : contains(split(controllers, ','), controller);
    if (match) return line.substr(second + 1);
  }
  return {};
}

// Returns `path` as seen from `base`, both absolute; empty if it isn't below `base`.
std::string relative_to(const std::string& path, const std::string& base) {
  if (base == "/") return path.size() > 1 ? path.substr(1) : "";
  if (path.starts_with(base + "/")) return path.substr(base.size() + 1);
  return "";
}

Levels find_levels(const fs::path& root, std::string_view controller) {
  std::optional<Mount> mount = find_mount(root, controller);
  std::optional<std::string> path = find_path(root, controller);
  if (!mount || !path) return {};
  fs::path point = root / fs::path(mount->point).relative_path();
  fs::path relative = relative_to(*path, mount->root);
  // A container may be given its path on the host though it sees only its own part mounted.
  bool escapes = std::find(relative.begin(), relative.end(), "..") != relative.end();
  std::error_code ignored;
  if (escapes || !fs::is_directory(point / relative, ignored)) relative.clear();
  Levels levels;
  for (; !relative.empty(); relative = relative.parent_path()) levels.push_back(point / relative);
  levels.push_back(point);
  return levels;
}

// Returns the words of a file's first line.
std::vector<std::string> read_words(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return split(line, ' ');
}

// Returns the count, or none for "max" and other words that are no number.
std::optional<uint64_t> to_count(const std::string& word) {
  if (word.empty() || word[0] < '0' || word[0] > '9') return {};
  return std::strtoull(word.c_str(), nullptr, 10);
}

std::optional<uint64_t> read_count(const fs::path& file) {
  std::vector<std::string> words = read_words(file);
  return words.empty() ? std::nullopt : to_count(words[0]);
}

// Returns the bytes of file cache charged to a cgroup. In version 1 `prefix` is "total_", to
// include children.
uint64_t read_file_cache(const fs::path& stat, const std::string& prefix) {
  std::ifstream in(stat);
  uint64_t sum = 0;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> words = split(line, ' ');
    if (words.size() != 2) continue;
    if (words[0] == prefix + "inactive_file" || words[0] == prefix + "active_file") {
      sum += to_count(words[1]).value_or(0);
    }
  }
  return sum;
}

template <typename T>
void tighten(std::optional<T>* limit, T value) {
  if (!*limit || value < **limit) *limit = value;
}

void apply_quota(CgroupLimits* limits, std::optional<uint64_t> quota_us,
                 std::optional<uint64_t> period_us) {
  if (!quota_us || !period_us || *quota_us == 0 || *period_us == 0) return;
  tighten(&limits->cpu_quota, static_cast<double>(*quota_us) / static_cast<double>(*period_us));
}

void apply_memory(CgroupLimits* limits, std::optional<uint64_t> limit,
                  std::optional<uint64_t> usage, uint64_t cache) {
  // Version 1 writes "no limit" as the largest multiple of a page.
  if (!limit || *limit >= uint64_t{1} << 62) return;
  tighten(&limits->memory_limit, *limit);
  uint64_t held = usage.value_or(0) - std::min(usage.value_or(0), cache);
  tighten(&limits->memory_left, *limit - std::min(*limit, held));
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  for (const fs::path& level : find_levels(root, "")) {
    std::vector<std::string> words = read_words(level / "cpu.max");
    if (words.size() == 2) apply_quota(&limits, to_count(words[0]), to_count(words[1]));
    for (const char* file : {"memory.max", "memory.high"}) {
      apply_memory(&limits, read_count(level / file), read_count(level / "memory.current"),
                   read_file_cache(level / "memory.stat", ""));
    }
  }
  for (const fs::path& level : find_levels(root, "cpu")) {
    apply_quota(&limits, read_count(level / "cpu.cfs_quota_us"),
                read_count(level / "cpu.cfs_period_us"));
  }
  for (const fs::path& level : find_levels(root, "memory")) {
    apply_memory(&limits, read_count(level / "memory.limit_in_bytes"),
                 read_count(level / "memory.usage_in_bytes"),
                 read_file_cache(level / "memory.stat", "total_"));
  }
  return limits;
}

}  // namespace hearth
