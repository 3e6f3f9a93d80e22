#include "cli/doctor_checks.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "base/printable.h"

namespace hearth {

Finding check_reading(const BandwidthTable& table, std::optional<uint32_t> channels) {
  // Half of the 17 GB/s of a channel of DDR4-2133, the slowest memory in use; a healthy channel
  // gives more.
  constexpr double kLittle = 8e9;
  double rate = 0;
  for (size_t node = 0; node < table.read.size(); ++node) rate += table.read[node][node];
  const uint32_t threads = std::accumulate(table.threads.begin(), table.threads.end(), 0u);
  Finding finding{FindingLevel::kOk, "reading memory",
                  fmt::format("{:.1f} GB/s by {}", rate * 1e-9, count_text(threads, "thread")), ""};
  if (table.is_short()) finding.found += ", some of it from caches";
  if (!channels) return finding;
  const double of_channel = rate / *channels;
  finding.found += fmt::format("; {} with modules, {:.1f} GB/s each",
                               count_text(*channels, "channel"), of_channel * 1e-9);
  // If fewer than two threads for each channel read, they cannot use its whole bandwidth, so a low
  // rate proves nothing.
  if (threads < 2 * *channels || of_channel >= kLittle) return finding;
  finding.level = FindingLevel::kNote;
  finding.remedy =
      "this is slow for memory channels, and it limits how fast answers are written: see what else "
      "runs, and whether the firmware slows memory down";
  return finding;
}

Finding check_disk(const std::string& folder, std::optional<uint64_t> free_bytes, bool all) {
  constexpr uint64_t kLittle = uint64_t{10} << 30;
  const std::string where = all ? fmt::format(" in {}", printable(folder, 400)) : "";
  if (!free_bytes) {
    return {FindingLevel::kNote, "disk", "it is not known how much is free for models" + where,
            "check that HF_HUB_CACHE and HF_HOME name folders on a disk that is mounted"};
  }
  Finding finding{FindingLevel::kOk, "disk",
                  fmt::format("{} free for models{}", bytes_text(*free_bytes), where), ""};
  if (*free_bytes >= kLittle) return finding;
  finding.level = FindingLevel::kNote;
  finding.remedy =
      "many models are larger: delete some (`hearth list`, `hearth remove NAME`), or set "
      "HF_HUB_CACHE to a folder on another disk";
  return finding;
}

std::optional<uint64_t> free_disk_bytes(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path path = fs::absolute(folder, error); !path.empty(); path = path.parent_path()) {
    const fs::space_info space = fs::space(path, error);
    if (!error) return space.available;
    if (path == path.parent_path()) break;
  }
  return std::nullopt;
}

Finding check_stores(const std::vector<LocalModel>& models, bool all) {
  struct Store {
    size_t models = 0;
    uint64_t bytes = 0;
    std::string names;
  };
  std::map<std::string, Store> stores;
  size_t broken = 0;
  for (const LocalModel& model : models) {
    if (!model.problem.empty()) {
      ++broken;
      continue;
    }
    Store& store = stores[model.store];
    ++store.models;
    store.bytes += model.bytes;
    store.names += (store.names.empty() ? " (" : ", ") + printable(model.name, 200);
  }
  Finding finding{FindingLevel::kOk, "stores", "no model on this machine yet", ""};
  if (!stores.empty()) finding.found.clear();
  for (const auto& [name, store] : stores) {
    finding.found += fmt::format("{}{}: {}, {}", finding.found.empty() ? "" : "; ", name,
                                 count_text(store.models, "model"), bytes_text(store.bytes));
    if (all) finding.found += store.names + ")";
  }
  if (broken > 0) {
    finding.level = FindingLevel::kNote;
    finding.found += fmt::format("; {} cannot be read", count_text(broken, "more model"));
    finding.remedy = "`hearth list` shows which, and why";
  }
  return finding;
}

Finding check_tuned(const std::vector<TunedStore::Entry>& entries, const TunedFields& machine,
                    bool all) {
  size_t fits = 0;
  std::string others;
  for (const TunedStore::Entry& entry : entries) {
    const std::string why =
        entry.tuned ? difference(entry.tuned->machine, machine) : "the file cannot be read";
    if (why.empty()) {
      ++fits;
      continue;
    }
    others += fmt::format("{}{}{}", others.empty() ? "" : "; ", printable(why, 200),
                          all ? " (" + printable(entry.path, 400) + ")" : "");
  }
  Finding finding{FindingLevel::kOk, "tuning",
                  fits > 0 ? fmt::format("{} tuned here", count_text(fits, "model"))
                           : "nothing was tuned here yet",
                  ""};
  if (others.empty()) return finding;
  finding.level = FindingLevel::kNote;
  finding.found += fmt::format("; saved results that do not fit: {}", others);
  finding.remedy =
      "saved results are not used: run `hearth tune MODEL` again; `hearth tune --list` lists all";
  return finding;
}

}  // namespace hearth
