// TunedStore: the folders that hold the results of tuning, in a file for each machine and model
// shape (cost/tuned_file.h), and the measured bandwidths, in a file for each machine
// (cost/bandwidth_file.h). Only one of the folders is written. The others, which an administrator
// may fill, are only read.
//
// A file appears whole or not at all, and is on the disk when save() returns. A lock lets only one
// process tune at a time (TunedLock). Errors: a folder or file that cannot be read or written, by
// its name (kFile); another process tunes (kBusy).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/bandwidth.h"
#include "cost/tuned_file.h"

namespace hearth {

// Keeps other processes from tuning into a folder as long as it lives. The system releases the lock
// however the process ends.
class TunedLock {
 public:
  explicit TunedLock(const std::string& folder);
  ~TunedLock();
  TunedLock(const TunedLock&) = delete;
  TunedLock& operator=(const TunedLock&) = delete;

 private:
  int fd_ = -1;
};

class TunedStore {
 public:
  // The folder `own` is the one that is written. It need not exist yet.
  TunedStore(std::string own, std::vector<std::string> others);
  // Returns the store of these folders: $XDG_CONFIG_HOME/hearth/tuned (~/.config without that
  // variable), and hearth/tuned in each of $XDG_CONFIG_DIRS (/etc/xdg without it). `variable`
  // returns a variable of the environment, or null.
  using Variable = std::function<const char*(const char* name)>;
  static TunedStore of_environment(const Variable& variable);
  // Returns the store of the folders that this process's environment names.
  static TunedStore of_environment();

  const std::string& own() const { return own_; }

  // The result for this model shape on this machine, from the first folder that has one. If there
  // is none but a file for another machine, or one that cannot be read, `note` says so.
  struct Found {
    std::optional<Tuned> tuned;
    std::string path, note;
  };
  Found find(const TunedFields& machine, const TunedFields& model) const;

  // A file of one of the folders: its path, and its results or the reason why they cannot be read.
  struct Entry {
    std::string path;
    std::optional<Tuned> tuned;
    std::string fault;
  };
  std::vector<Entry> list() const;

  // Makes the own folder if it is missing, and locks it. Throws if the folder cannot be written to.
  TunedLock lock() const;
  // Replaces the file of that machine and model, and returns its path. The caller holds the lock.
  std::string save(const Tuned& tuned) const;
  // Removes the file of that machine and model from the own folder. Returns whether there was one.
  bool remove(const TunedFields& machine, const TunedFields& model) const;

  // The bandwidths of this machine, from the first folder that has them. If a folder's file cannot
  // be read, or is of other nodes, `note` says so and the next folder is looked into.
  struct FoundBandwidth {
    std::optional<BandwidthTable> table;
    std::string path, note;
  };
  FoundBandwidth find_bandwidth(const Machine& machine, const TunedFields& fields) const;
  // Replaces the bandwidths of that machine. The caller holds the lock.
  void save_bandwidth(const Machine& machine, const TunedFields& fields,
                      const BandwidthTable& table) const;

 private:
  std::vector<std::string> folders() const;  // the own one first

  std::string own_;
  std::vector<std::string> others_;
};

}  // namespace hearth
