// TunedStore: the folders that hold what tuning found, a file for each machine and model shape
// (cost/tuned_file.h), and the bandwidths that it measured, a file for each machine
// (cost/bandwidth_file.h): one that is written, and others that are only read, which an
// administrator may fill.
//
// A file appears whole or not at all, and is on the disk when save() returns. Two that tune exclude
// each other (TunedLock). Errors (kFile): a folder or file that cannot be read or written, named;
// kBusy: somebody else tunes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/bandwidth.h"
#include "cost/tuned_file.h"

namespace hearth {

// Keeps others from tuning into a folder, until it dies, by whatever end of the process.
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
  // `own` need not be there yet.
  TunedStore(std::string own, std::vector<std::string> others);
  // $XDG_CONFIG_HOME/hearth/tuned, ~/.config without that variable, and every hearth/tuned of
  // $XDG_CONFIG_DIRS, /etc/xdg without it. `variable` gives a variable of the environment, or null.
  using Variable = std::function<const char*(const char* name)>;
  static TunedStore of_environment(const Variable& variable);
  // Returns the store of this process.
  static TunedStore of_environment();

  const std::string& own() const { return own_; }

  // The result for this model shape on this machine, from the first folder that has it. Where there
  // is none, but one for another machine or a file that cannot be read, `note` says so.
  struct Found {
    std::optional<Tuned> tuned;
    std::string path, note;
  };
  Found find(const TunedFields& machine, const TunedFields& model) const;

  // A file of one of the folders: its path, and what it holds or why not.
  struct Entry {
    std::string path;
    std::optional<Tuned> tuned;
    std::string fault;
  };
  std::vector<Entry> list() const;

  // Makes the folder where it is missing, and fails where nothing can be written there.
  TunedLock lock() const;
  // Replaces the file of that machine and model; returns its path. Locked.
  std::string save(const Tuned& tuned) const;
  // Takes away the file of that machine and model, of the own folder. Whether there was one.
  bool remove(const TunedFields& machine, const TunedFields& model) const;

  // The bandwidths that were measured on this machine, from the first folder that has them. Where a
  // file cannot be read, or is of other nodes, `note` says so and the next folder is looked into.
  struct FoundBandwidth {
    std::optional<BandwidthTable> table;
    std::string path, note;
  };
  FoundBandwidth find_bandwidth(const Machine& machine, const TunedFields& fields) const;
  // Replaces the machine's file. Locked.
  void save_bandwidth(const Machine& machine, const TunedFields& fields,
                      const BandwidthTable& table) const;

 private:
  std::vector<std::string> folders() const;  // the own one first

  std::string own_;
  std::vector<std::string> others_;
};

}  // namespace hearth
