// CacheRepo: one repository's folder in Hugging Face's cache, which hf and others share:
//
//   models--ORG--REPO/blobs/HASH            the bytes, by their digest
//   models--ORG--REPO/snapshots/COMMIT/PATH -> ../../blobs/HASH
//   models--ORG--REPO/refs/REVISION         the commit of a revision
//   .locks/models--ORG--REPO/HASH.lock      who fetches holds it by flock(2)
//   .locks/models--ORG--REPO/hearth.lock    who fetches a model shares it, who removes one has it
//                                           alone
//
// What is under way lies in blobs/HASH.hearth, with what is safe of it in blobs/HASH.hearth.safe:
// pieces come out of order, and the HASH.incomplete of others is always a prefix.
// Errors (kFile): what cannot be written, with the reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace hearth {

// models--ORG--REPO of ORG/REPO.
std::string repo_folder(const std::string& id);
// Returns the id of a folder; empty where the folder is no repository's.
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

  // Makes the folder of the locks, and those of the repository.
  void prepare_locks() const;
  void prepare() const;
  // Puts PATH of the snapshot on its blob.
  void link(const std::string& commit, const std::string& path, const std::string& digest) const;
  void set_ref(const std::string& revision, const std::string& commit) const;
  // Empty where there is none.
  std::string ref(const std::string& revision) const;

 private:
  std::string folder_, blobs_, locks_;
};

// Makes a folder and those above it. Throws (kFile).
void make_folders(const std::string& path);
// Throws (kFile): `path` and what errno says.
[[noreturn]] void fail_path(const std::string& path, const char* doing, int error);

// Holds a file's lock, as hf takes it. Waits for another process; `waiting` is told once.
class CacheLock {
 public:
  enum class Use : uint8_t { kAlone, kShared };

  CacheLock(const std::string& path, Use use, const std::atomic<bool>& stop,
            const std::function<void()>& waiting);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;
  // False where it would have had to wait and `stop` was set.
  bool held() const { return held_; }

 private:
  int fd_ = -1;
  bool held_ = false;
};

}  // namespace hearth
