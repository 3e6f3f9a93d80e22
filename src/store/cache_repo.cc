#include "store/cache_repo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "store/hub_name.h"

namespace hearth {

namespace fs = std::filesystem;

namespace {

const std::string kRepoFolder = "models--";

}  // namespace

std::string repo_folder(const std::string& id) {
  std::string folder = kRepoFolder + id;
  if (const size_t slash = folder.find('/'); slash != folder.npos) folder.replace(slash, 1, "--");
  return folder;
}

std::string repo_of_folder(const std::string& folder) {
  if (!folder.starts_with(kRepoFolder)) return {};
  std::string id = folder.substr(kRepoFolder.size());
  if (const size_t dashes = id.find("--"); dashes != id.npos) id.replace(dashes, 2, "/");
  return id;
}

CacheRepo::CacheRepo(const std::string& cache, const std::string& id) {
  const std::string own = repo_folder(id);
  folder_ = cache + "/" + own;
  blobs_ = folder_ + "/blobs";
  locks_ = cache + "/.locks/" + own;
}

std::string CacheRepo::snapshot_path(const std::string& commit) const {
  return folder_ + "/snapshots/" + commit;
}

void CacheRepo::prepare_locks() const { make_folders(locks_); }

void CacheRepo::prepare() const {
  make_folders(blobs_);
  make_folders(folder_ + "/snapshots");
  make_folders(folder_ + "/refs");
  if (access(blobs_.c_str(), W_OK) != 0) fail_path(blobs_, "written to", errno);
}

void CacheRepo::link(const std::string& commit, const std::string& path,
                     const std::string& digest) const {
  const std::string place = snapshot_path(commit) + "/" + path;
  make_folders(fs::path(place).parent_path().string());
  std::string target = "../../";
  for (const char c : path) target += c == '/' ? "../" : "";
  target += "blobs/" + digest;
  if (symlink(target.c_str(), place.c_str()) == 0) return;
  if (errno != EEXIST) fail_path(place, "made", errno);
  std::error_code error;
  if (fs::read_symlink(place, error) == target) return;
  // The link is made under a name that no other process takes, then renamed.
  const std::string fresh = fmt::format("{}.{}.hearth", place, getpid());
  unlink(fresh.c_str());
  if (symlink(target.c_str(), fresh.c_str()) != 0) fail_path(fresh, "made", errno);
  if (rename(fresh.c_str(), place.c_str()) != 0) fail_path(place, "made", errno);
}

void CacheRepo::set_ref(const std::string& revision, const std::string& commit) const {
  const std::string place = folder_ + "/refs/" + revision;
  make_folders(fs::path(place).parent_path().string());
  AtomicFile file(place);
  file.write(std::as_bytes(std::span(commit)));
  file.commit();
}

std::string CacheRepo::ref(const std::string& revision) const {
  std::ifstream file(folder_ + "/refs/" + revision);
  std::string commit;
  std::getline(file, commit);
  return is_commit(commit) ? commit : "";
}

void make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_path(path, "made", error.value());
}

void fail_path(const std::string& path, const char* doing, int error) {
  fail(ErrorCode::kFile, "'{}' cannot be {}: {}; to use another folder, set HF_HUB_CACHE", path,
       doing, std::strerror(error));
}

CacheLock::CacheLock(const std::string& path, Use use, const std::atomic<bool>& stop,
                     const std::function<void()>& waiting) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_path(path, "opened", errno);
  bool notified = false;
  const int kind = use == Use::kAlone ? LOCK_EX : LOCK_SH;
  while (flock(fd_, kind | LOCK_NB) != 0) {
    const int error = errno;
    if (error != EWOULDBLOCK && error != EINTR) {
      close(fd_);
      fail_path(path, "locked", error);
    }
    if (!notified) waiting();
    notified = true;
    if (stop) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  held_ = true;
}

CacheLock::~CacheLock() { close(fd_); }

}  // namespace hearth
