#include "cli/found_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "store/repo_models.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxListedEntries = 10'000;
constexpr int kMaxFolderDepth = 4;

// Searches a folder and its subfolders.
class Search {
 public:
  // Searches one folder. Returns false where it cannot be listed.
  bool look(const fs::path& folder, int below, std::error_code* error) {
    std::vector<RepoFile> files;
    std::vector<fs::path> folders;
    fs::directory_iterator at(folder, *error), end;
    for (; !*error && at != end && ++entries_ < kMaxListedEntries; at.increment(*error)) {
      std::error_code other;
      if (at->is_directory(other)) {
        folders.push_back(at->path());
      } else if (at->is_regular_file(other)) {
        files.push_back({.path = at->path().filename().string()});
      }
    }
    if (*error) return false;
    bool whole = false;
    for (const RepoModel& model : find_repo_models(files)) {
      const std::string& opens = model.files[0].path;
      if (model.folder) {
        whole = true;
        found_.push_back({folder.filename().string(), folder.string()});
      } else {
        found_.push_back({std::string(gguf_name(opens).stem), (folder / opens).string()});
      }
    }
    if (whole || below == 0) return true;
    std::ranges::sort(folders);
    for (const fs::path& each : folders) {
      // A subfolder that cannot be listed is left out. A link may form a cycle, so folders below a
      // linked one are not searched.
      std::error_code other;
      look(each, fs::is_symlink(each, other) ? 0 : below - 1, &other);
    }
    return true;
  }

  std::vector<FoundFile> take() {
    std::ranges::sort(found_, {}, [](const FoundFile& file) { return file.name; });
    return std::move(found_);
  }

 private:
  std::vector<FoundFile> found_;
  size_t entries_ = 0;
};

std::string one_stamp(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "";
  return fmt::format("{} {} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

}  // namespace

std::vector<FoundFile> find_model_files(const std::string& folder) {
  Search search;
  std::error_code error;
  // Drops a trailing slash, since the file name of such a path is empty.
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (!search.look(path, kMaxFolderDepth, &error)) {
    fail(ErrorCode::kFile, "cannot list the folder '{}': {}", folder, error.message());
  }
  return search.take();
}

std::string file_stamp(const std::string& path) {
  const fs::path whole(path);
  const std::string file = whole.filename().string();
  const GgufName part = gguf_name(file);
  std::error_code error;
  const bool folder = fs::is_directory(whole, error);
  if (!folder && part.parts == 1) return one_stamp(path);
  std::vector<std::string> stamps;
  const std::string begin = folder ? "" : fmt::format("{}-", part.stem);
  fs::directory_iterator at(folder ? whole : whole.parent_path(), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string stamp = one_stamp(at->path().string());
    if (stamp.empty()) return "";
    stamps.push_back(name + " " + stamp);
  }
  if (folder ? !fs::exists(whole / "config.json", error) : stamps.size() < part.parts) return "";
  std::ranges::sort(stamps);
  return fmt::format("{}", fmt::join(stamps, "\n"));
}

}  // namespace hearth
