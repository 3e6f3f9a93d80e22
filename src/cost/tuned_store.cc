#include "cost/tuned_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include "base/atomic_file.h"
#include "base/byte_order_mark.h"
#include "base/error.h"
#include "base/printable.h"
#include "cost/bandwidth_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".tuned";

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  fail(ErrorCode::kFile,
       "cannot write '{}' ({}), so tuning results would be lost: make it writable, or set "
       "XDG_CONFIG_HOME to another folder",
       printable(path, 400), std::strerror(error));
}

std::string file_name(const TunedFields& machine, const TunedFields& model) {
  return fields_hash(model) + "-" + fields_hash(machine) + kSuffix;
}

std::string bandwidth_name(const TunedFields& machine) {
  return fields_hash(machine) + ".bandwidth.json";
}

// Returns the tuned files in the folder, by name; none if there is no such folder.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == kSuffix) paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Reads a file. If it is longer than a tuned file may be, reads one byte more than that, so that
// the parser refuses it.
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTunedBytes + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    fail(ErrorCode::kFile, "cannot read '{}': make it readable, or remove it",
         printable(path, 400));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return std::string(without_byte_order_mark(text));
}

Tuned read_tuned(const std::string& path) { return parse_tuned(read_file(path), path); }

void replace_file(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit_to_disk();
}

}  // namespace

TunedLock::TunedLock(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_to_write(folder, error.value());
  const std::string path = folder + "/lock";
  fd_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_to_write(path, errno);
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  close(fd_);
  fail(ErrorCode::kBusy, "another `hearth tune` is writing to '{}': wait until it ends, or stop it",
       printable(folder, 400));
}

TunedLock::~TunedLock() { close(fd_); }

TunedStore::TunedStore(std::string own, std::vector<std::string> others)
    : own_(std::move(own)), others_(std::move(others)) {}

TunedStore TunedStore::of_environment(const Variable& variable) {
  auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text == nullptr ? "" : text);
  };
  const std::string folder = "/hearth/tuned";
  std::string home = value("XDG_CONFIG_HOME");
  // The XDG specification says to ignore relative paths.
  if (!home.starts_with('/')) home = value("HOME") + "/.config";
  std::string all = value("XDG_CONFIG_DIRS");
  if (all.empty()) all = "/etc/xdg";
  std::vector<std::string> others;
  for (size_t at = 0, end = 0; at < all.size(); at = end + 1) {
    end = std::min(all.find(':', at), all.size());
    if (all[at] == '/') others.push_back(all.substr(at, end - at) + folder);
  }
  return {home + folder, std::move(others)};
}

TunedStore TunedStore::of_environment() {
  return of_environment([](const char* name) { return std::getenv(name); });
}

std::vector<std::string> TunedStore::folders() const {
  std::vector<std::string> all{own_};
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

TunedStore::Found TunedStore::find(const TunedFields& machine, const TunedFields& model) const {
  Found found;
  const std::string name = file_name(machine, model), shape = fields_hash(model) + "-";
  for (const std::string& folder : folders()) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    try {
      Tuned tuned = read_tuned(path);
      const std::string other = difference(tuned.machine, machine) + difference(tuned.model, model);
      if (other.empty()) return {std::move(tuned), path, ""};
      found.note = fmt::format("'{}' is not used: {}", printable(path, 400), other);
    } catch (const Error& fault) {
      found.note = fault.what();
    }
  }
  if (!found.note.empty()) return found;
  for (const std::string& folder : folders()) {
    for (const std::string& path : files_in(folder)) {
      if (!fs::path(path).filename().string().starts_with(shape)) continue;
      try {
        found.note =
            fmt::format("this model was tuned only on another machine ({}): run `hearth tune` here",
                        difference(read_tuned(path).machine, machine));
        return found;
      } catch (const Error& error) {
        found.note = error.what();
      }
    }
  }
  return found;
}

std::vector<TunedStore::Entry> TunedStore::list() const {
  std::vector<Entry> entries;
  for (const std::string& folder : folders()) {
    for (const std::string& path : files_in(folder)) {
      Entry& entry = entries.emplace_back(Entry{path, {}, ""});
      try {
        entry.tuned = read_tuned(path);
      } catch (const Error& error) {
        entry.fault = error.what();
      }
    }
  }
  return entries;
}

TunedLock TunedStore::lock() const { return TunedLock(own_); }

std::string TunedStore::save(const Tuned& tuned) const {
  const std::string path = own_ + "/" + file_name(tuned.machine, tuned.model);
  replace_file(path, tuned_text(tuned));
  return path;
}

bool TunedStore::remove(const TunedFields& machine, const TunedFields& model) const {
  const std::string path = own_ + "/" + file_name(machine, model);
  std::error_code error;
  const bool removed = fs::remove(path, error);
  if (error) fail_to_write(path, error.value());
  return removed;
}

TunedStore::FoundBandwidth TunedStore::find_bandwidth(const Machine& machine,
                                                      const TunedFields& fields) const {
  FoundBandwidth found;
  for (const std::string& folder : folders()) {
    const std::string path = folder + "/" + bandwidth_name(fields);
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    try {
      BandwidthTable table = parse_bandwidth(read_file(path), printable(path, 400));
      check_bandwidth(table, machine);
      return {std::move(table), path, ""};
    } catch (const Error& fault) {
      found.note = fmt::format("'{}' is not used: {}", printable(path, 400), fault.what());
    }
  }
  return found;
}

void TunedStore::save_bandwidth(const Machine& machine, const TunedFields& fields,
                                const BandwidthTable& table) const {
  Json json;
  json_bandwidth(json, machine, table);
  replace_file(own_ + "/" + bandwidth_name(fields), json.line());
}

}  // namespace hearth
