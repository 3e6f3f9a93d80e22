// CacheRepo: one repository's folder in Hugging Face's cache, shared with hf and other programs:
//
//   models--ORG--REPO/blobs/HASH            the bytes of a file, by their digest
//   models--ORG--REPO/snapshots/COMMIT/PATH -> ../../blobs/HASH
//   models--ORG--REPO/refs/REVISION         the commit of a revision
//   .locks/models--ORG--REPO/HASH.lock      held by flock(2) while the blob is fetched
//   .locks/models--ORG--REPO/hearth.lock    held shared while a model is fetched, alone while one
//                                           is removed
//
// A file being fetched is blobs/HASH.hearth, and its record of safe pieces is
// blobs/HASH.hearth.safe. (Pieces come out of order, while other programs' HASH.incomplete is
// always a prefix.) Errors (kFile): something that cannot be written, with the reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace hearth {

// Returns a repository's folder: "models--ORG--REPO" for "ORG/REPO".
std::string repo_folder(const std::string& id);
// Returns the id "ORG/REPO" of a folder; empty where it is no repository's.
std::string repo_of_folder(const std::string& folder);

class CacheRepo {
 public:
  // `id`: "ORG/REPO".
  CacheRepo(const std::string& cache, const std::string& id);

  const std::string& folder() const { return folder_; }
  std::string blob_path(const std::string& digest) const { return blobs_ + "/" + digest; }
  std::string snapshot_path(const std::string& commit) const;
  std::string lock_path(const std::string& digest) const { return locks_ + "/" + digest + ".lock"; }
  std::string repo_lock_path() const { return lock_path("hearth"); }

  // Make the folder of the locks, and the folders of the repository.
  void prepare_locks() const;
  void prepare() const;
  // Links PATH of the commit's snapshot to its blob.
  void link(const std::string& commit, const std::string& path, const std::string& digest) const;
  void set_ref(const std::string& revision, const std::string& commit) const;
  // Returns the commit of a revision; empty where there is none.
  std::string ref(const std::string& revision) const;

 private:
  std::string folder_, blobs_, locks_;
};

// Makes a folder and those above it. Throws (kFile).
void make_folders(const std::string& path);
// Throws an error (kFile) that says what could not be done with `path`: `doing`, such as "written",
// with the reason that `error`, a value of errno, stands for.
[[noreturn]] void fail_path(const std::string& path, const char* doing, int error);

// CacheLock: holds a lock file by flock(2), as hf does. If another process holds it, `waiting` is
// called once, and the constructor waits.
class CacheLock {
 public:
  enum class Use : uint8_t { kAlone, kShared };

  CacheLock(const std::string& path, Use use, const std::atomic<bool>& stop,
            const std::function<void()>& waiting);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;
  // False where `stop` was set while another process held the lock.
  bool held() const { return held_; }

 private:
  int fd_ = -1;
  bool held_ = false;
};

}  // namespace hearth
