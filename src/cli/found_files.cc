#include "cli/found_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/ascii.h"
#include "base/error.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListed = 10'000;
constexpr int kMostBelow = 4;
// "-00001-of-00003.gguf"
constexpr size_t kPartLength = 20;

// Where the number of a part begins; none of a file that is whole.
std::optional<size_t> part_of(const std::string& file) {
  if (file.size() <= kPartLength) return {};
  const size_t at = file.size() - kPartLength;
  const bool is_part = file[at] == '-' && file.compare(at + 6, 4, "-of-") == 0;
  return is_part ? std::optional(at) : std::nullopt;
}

std::optional<std::string> model_name(const fs::path& path) {
  const std::string file = path.filename().string();
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return fs::exists(path / "config.json", error) ? std::optional(file) : std::nullopt;
  }
  if (!ascii_lower(file).ends_with(".gguf") || ascii_lower(file).starts_with("mmproj")) return {};
  const std::optional<size_t> part = part_of(file);
  if (!part) return path.stem().string();
  return file.compare(*part, 6, "-00001") == 0 ? std::optional(file.substr(0, *part))
                                               : std::nullopt;
}

std::string one_stamp(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "none";
  return fmt::format("{} {} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

}  // namespace

std::vector<FoundFile> find_model_files(const std::string& folder) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  if (error) fail(ErrorCode::kFile, "'{}' cannot be listed: {}", folder, error.message());
  std::vector<FoundFile> found;
  size_t entries = 0;
  for (; at != fs::recursive_directory_iterator() && ++entries < kMostListed; at.increment(error)) {
    if (at.depth() >= kMostBelow) at.disable_recursion_pending();
    const std::optional<std::string> name = model_name(at->path());
    if (!name) continue;
    at.disable_recursion_pending();
    found.push_back({*name, at->path().string()});
  }
  std::ranges::sort(found, {}, [](const FoundFile& file) { return file.name; });
  return found;
}

std::string file_stamp(const std::string& path) {
  const fs::path whole(path);
  const std::string file = whole.filename().string();
  const std::optional<size_t> part = part_of(file);
  std::error_code error;
  const bool folder = fs::is_directory(whole, error);
  if (!folder && !part) return one_stamp(path);
  std::vector<std::string> stamps;
  const std::string begin = part ? file.substr(0, *part) : "";
  fs::directory_iterator at(folder ? whole : whole.parent_path(), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(begin)) stamps.push_back(name + " " + one_stamp(at->path().string()));
  }
  std::ranges::sort(stamps);
  return fmt::format("{}", fmt::join(stamps, "\n"));
}

}  // namespace hearth
