#include "store/local_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "base/ascii.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"
#include "store/cache_repo.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEntries = 100'000;
constexpr int kDeepest = 6;
constexpr size_t kCommitDigits = 40;
constexpr size_t kLongestManifest = size_t{4} << 20;
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
constexpr std::string_view kTensorLayer = "application/vnd.ollama.image.tensor";

bool is_weights(const std::string& file) {
  return file.ends_with(".gguf") || file.ends_with(".safetensors");
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
    if (paths.size() == kMaxEntries) break;
  }
  std::ranges::sort(paths);
  return paths;
}

// Lists the files below a folder. Links to files are followed, links to folders are not.
// `dangling`: gets the links that lead nowhere.
void walk(const fs::path& folder, const std::string& before, int depth,
          std::vector<RepoFile>* files, std::vector<std::string>* dangling) {
  if (depth > kDeepest) return;
  for (const fs::path& path : entries_of(folder)) {
    if (files->size() >= kMaxEntries) return;
    std::error_code error;
    const std::string name = before + path.filename().string();
    const fs::file_status own = fs::symlink_status(path, error);
    if (fs::is_directory(own)) {
      walk(path, name + "/", depth + 1, files, dangling);
    } else if (fs::is_regular_file(path, error)) {
      const uintmax_t size = fs::file_size(path, error);
      if (!error) files->push_back({.path = name, .size = size});
    } else if (dangling != nullptr && fs::is_symlink(own)) {
      dangling->push_back(name);
    }
  }
}

std::string read_small(const fs::path& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(file.gcount());
  return text;
}

// Returns the folders of a repository's snapshots: that of refs/main first, then the newest first.
std::vector<fs::path> snapshots_of(const fs::path& repo) {
  const std::string main = read_small(repo / "refs/main", kCommitDigits);
  std::vector<std::tuple<bool, int64_t, fs::path>> order;
  for (const fs::path& path : entries_of(repo / "snapshots")) {
    std::error_code error;
    const auto time = fs::last_write_time(path, error).time_since_epoch().count();
    order.emplace_back(path.filename() != main, -static_cast<int64_t>(time), path);
  }
  std::ranges::sort(order);
  std::vector<fs::path> paths;
  for (const auto& entry : order) paths.push_back(std::get<2>(entry));
  return paths;
}

// Returns the LocalModel of a model in a folder of a repository's files.
LocalModel model_of(const std::string& id, const char* store, const fs::path& folder,
                    const RepoModel& model) {
  LocalModel local{.name = fmt::format("{}:{}", id, model.label), .store = store};
  local.type = model.label;
  local.bytes = model.bytes;
  local.path = model.folder ? folder.string() : (folder / model.files[0].path).string();
  return local;
}

void add_snapshot(const std::string& id, const fs::path& snapshot, std::set<std::string>* names,
                  std::vector<LocalModel>* models) {
  std::vector<RepoFile> files;
  std::vector<std::string> dangling;
  walk(snapshot, "", 0, &files, &dangling);
  for (const RepoModel& model : find_repo_models(files)) {
    LocalModel local = model_of(id, kCacheStore, snapshot, model);
    local.commit = snapshot.filename().string();
    for (const RepoFile& file : model.files) local.files.push_back(file.path);
    if (names->insert(local.name).second) models->push_back(std::move(local));
  }
  for (const std::string& name : dangling) {
    if (!is_weights(name)) continue;
    LocalModel local{.name = fmt::format("{}:{}", id, name), .store = kCacheStore};
    local.path = (snapshot / name).string();
    local.commit = snapshot.filename().string();
    local.files = {name};
    local.problem = fmt::format("the link '{}' leads nowhere", printable(local.path, 400));
    if (names->insert(local.name).second) models->push_back(std::move(local));
  }
}

void add_cache(const std::string& cache, std::vector<LocalModel>* models) {
  for (const fs::path& repo : entries_of(cache)) {
    const std::string id = repo_of_folder(repo.filename().string());
    if (id.empty()) continue;
    std::set<std::string> names;
    for (const fs::path& snapshot : snapshots_of(repo)) {
      add_snapshot(id, snapshot, &names, models);
    }
  }
}

// Returns the name of a manifest's path: "llama3:8b" for registry.HOST/library/llama3/8b,
// "ns/llama3:8b" for another namespace.
std::string ollama_name(const std::string& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(path)) parts.push_back(part.string());
  if (parts.size() < 4) return {};
  const std::string tag = parts.back(), name = parts[parts.size() - 2];
  const std::string space = parts[parts.size() - 3];
  const std::string own = space == "library" ? name : space + "/" + name;
  return fmt::format("{}:{}", own, tag);
}

void add_ollama(const std::string& folder, std::vector<LocalModel>* models) {
  std::vector<RepoFile> manifests;
  walk(fs::path(folder) / "manifests", "", 0, &manifests, nullptr);
  for (const RepoFile& manifest : manifests) {
    LocalModel local{.name = ollama_name(manifest.path), .store = "ollama"};
    if (local.name.empty()) continue;
    const fs::path place = fs::path(folder) / "manifests" / manifest.path;
    try {
      const OllamaLayer layer = read_ollama_manifest(read_small(place, kLongestManifest));
      const fs::path blob = fs::path(folder) / "blobs" / ("sha256-" + layer.digest);
      std::error_code error;
      local.path = blob.string();
      local.bytes = fs::file_size(blob, error);
      if (error) local.problem = fmt::format("its blob '{}' is not there", local.path);
      if (error) local.bytes = 0;
    } catch (const Error& error) {
      local.path = place.string();
      local.problem = error.what();
    }
    models->push_back(std::move(local));
  }
}

void add_lm_studio(const std::string& folder, std::vector<LocalModel>* models) {
  for (const fs::path& org : entries_of(folder)) {
    for (const fs::path& repo : entries_of(org)) {
      const std::string id = org.filename().string() + "/" + repo.filename().string();
      for (const RepoModel& model : find_repo_models(snapshot_files(repo.string()))) {
        models->push_back(model_of(id, "lm-studio", repo, model));
      }
    }
  }
}

// Whether the model has this name. `wanted`: in lower case.
bool is_called(const LocalModel& model, const std::string& wanted) {
  std::vector<std::string> names = short_names(model.name);
  if (model.store != "ollama" && !model.path.ends_with('/')) {
    names.push_back(fs::path(model.path).stem().string());
  }
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return ascii_lower(name) == wanted; });
}

[[noreturn]] void refuse_manifest(const char* what) {
  fail(ErrorCode::kFile, "ollama's manifest {}", what);
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_path(path.string(), "removed", error.value());
}

// Removes the folders of `path` that are empty, from the innermost up to `top`, which stays.
void remove_empty_folders(fs::path path, const fs::path& top) {
  std::error_code error;
  while (path != top && path.string().size() > top.string().size() && fs::is_empty(path, error)) {
    if (error || !fs::remove(path, error)) return;
    path = path.parent_path();
  }
}

// A file or link in a snapshot, not reached through a link to a folder.
struct SnapshotEntry {
  fs::path path;
  std::string blob = {};  // its target, if the entry is a link
};
// The entries of a snapshot by their paths in it.
using Snapshot = std::map<std::string, SnapshotEntry>;

// Reads all snapshots, by commit. Fails where a folder cannot be read, since blobs linked only from
// there would be removed as unused.
std::map<std::string, Snapshot> read_snapshots(const fs::path& repo) {
  const fs::path folder = repo / "snapshots";
  std::map<std::string, Snapshot> snapshots;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code other;
    if (fs::is_directory(at->symlink_status(other))) continue;
    const fs::path within = at->path().lexically_relative(folder);
    const std::string file = within.lexically_relative(*within.begin()).string();
    SnapshotEntry& entry = snapshots[*within.begin()][file];
    entry.path = at->path();
    const fs::path target = fs::read_symlink(at->path(), other);
    if (!other) entry.blob = target.filename().string();
  }
  if (error) fail_path(folder.string(), "read", error.value());
  return snapshots;
}

bool same_blob(const Snapshot& one, const Snapshot& other, const std::string& file) {
  const auto of_one = one.find(file), of_other = other.find(file);
  return of_one != one.end() && of_other != other.end() && !of_one->second.blob.empty() &&
         of_one->second.blob == of_other->second.blob;
}

// Returns the files of the same model in another snapshot; none if the weights there differ. Other
// files may differ.
std::vector<std::string> files_elsewhere(const LocalModel& model, const Snapshot& own,
                                         const Snapshot& snapshot, const fs::path& folder) {
  std::vector<std::string> weights;
  std::ranges::copy_if(model.files, std::back_inserter(weights), is_weights);
  const bool same = std::ranges::all_of(
      weights, [&](const std::string& file) { return same_blob(own, snapshot, file); });
  if (!same || weights.empty()) return {};
  for (const RepoModel& other : find_repo_models(snapshot_files(folder.string()))) {
    if (std::ranges::count(other.files, weights[0], &RepoFile::path) == 0) continue;
    weights.clear();
    std::ranges::transform(other.files, std::back_inserter(weights), &RepoFile::path);
    break;
  }
  return weights;
}

// Returns the entries, of all snapshots, that are removed with the model.
std::vector<SnapshotEntry> entries_of_model(const LocalModel& model, const fs::path& repo,
                                            const std::map<std::string, Snapshot>& snapshots) {
  std::vector<SnapshotEntry> entries;
  const auto own = snapshots.find(model.commit);
  if (own == snapshots.end()) return entries;
  for (const auto& [commit, snapshot] : snapshots) {
    const std::vector<std::string> files =
        commit == model.commit
            ? model.files
            : files_elsewhere(model, own->second, snapshot, repo / "snapshots" / commit);
    for (const std::string& file : files) {
      const auto found = snapshot.find(file);
      if (found != snapshot.end()) entries.push_back(found->second);
    }
  }
  return entries;
}

// Taken: a lock of the cache that is held exclusively. Its constructor fails where another process
// holds the lock.
struct Taken {
  Taken(const std::string& path, const std::string& id)
      : lock(path, CacheLock::Use::kAlone, kNow, [] {}) {
    if (lock.held()) return;
    fail(ErrorCode::kResource,
         "'{}' cannot be removed, as another process is downloading a model of that repository: "
         "wait until it ends, or stop it",
         printable(id));
  }

  static constexpr std::atomic<bool> kNow{true};
  CacheLock lock;
};

// Removes a blob and returns its size; 0 where it does not exist.
uint64_t remove_blob(const fs::path& blob) {
  std::error_code error;
  const uintmax_t size = fs::file_size(blob, error);
  if (error) return 0;
  remove_path(blob);
  return size;
}

// Removes the refs whose snapshot is gone: hf takes a cache with such refs for broken.
void remove_refs_to_nothing(const fs::path& repo) {
  std::vector<RepoFile> refs;
  walk(repo / "refs", "", 0, &refs, nullptr);
  for (const RepoFile& file : refs) {
    const std::string commit = read_small(repo / "refs" / file.path, kCommitDigits);
    std::error_code error;
    if (is_commit(commit) && !fs::exists(repo / "snapshots" / commit, error)) {
      remove_path(repo / "refs" / file.path);
    }
  }
}

}  // namespace

std::vector<RepoFile> snapshot_files(const std::string& folder) {
  std::vector<RepoFile> files;
  walk(folder, "", 0, &files, nullptr);
  return files;
}

OllamaLayer read_ollama_manifest(std::string_view json) {
  boost::json::value value;
  try {
    value = read_json(json);
  } catch (const Error&) {
    refuse_manifest("is not JSON");
  }
  const boost::json::object* manifest = value.if_object();
  const boost::json::value* layers = manifest ? manifest->if_contains("layers") : nullptr;
  if (layers == nullptr || !layers->is_array()) refuse_manifest("names no layers");
  bool tensors = false;
  for (const boost::json::value& each : layers->get_array()) {
    const boost::json::object* layer = each.if_object();
    const boost::json::value* type = layer ? layer->if_contains("mediaType") : nullptr;
    if (type == nullptr || !type->is_string()) continue;
    tensors = tensors || type->get_string() == kTensorLayer;
    if (type->get_string() != kModelLayer) continue;
    const boost::json::value* digest = layer->if_contains("digest");
    if (digest == nullptr || !digest->is_string()) refuse_manifest("names no digest");
    std::string_view text = digest->get_string();
    if (!text.starts_with("sha256:") || !is_hex(text.substr(7), 64)) {
      refuse_manifest("names an invalid digest");
    }
    return {.digest = std::string(text.substr(7))};
  }
  refuse_manifest(tensors ? "names tensors in ollama's own format instead of a GGUF file, which "
                            "only ollama reads: pull the model from a hub"
                          : "names no model");
}

std::vector<LocalModel> find_local_models(const StorePlaces& places) {
  std::vector<LocalModel> models;
  add_cache(places.hub, &models);
  for (const std::string& folder : places.ollama) add_ollama(folder, &models);
  for (const std::string& folder : places.lm_studio) add_lm_studio(folder, &models);
  return models;
}

std::vector<std::string> short_names(const std::string& name) {
  constexpr std::string_view kForm = "-gguf";
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string id = name.substr(0, colon), label = name.substr(colon);
  std::vector<std::string> ids = {id};
  if (const size_t slash = id.rfind('/'); slash != id.npos) {
    ids = {id, id.substr(slash + 1), "hf.co/" + id};
  }
  for (size_t i = 0, count = ids.size(); i < count; ++i) {
    if (!ascii_lower(ids[i]).ends_with(kForm)) continue;
    ids.push_back(ids[i].substr(0, ids[i].size() - kForm.size()));
  }
  std::vector<std::string> names = ids;
  if (label.empty()) return names;
  for (const std::string& each : ids) names.push_back(each + label);
  return names;
}

std::optional<LocalModel> find_local_model(const std::vector<LocalModel>& models,
                                           std::string_view name) {
  std::string wanted = ascii_lower(name);
  std::vector<const LocalModel*> found;
  auto keep = [&](auto fits) {
    if (!found.empty()) return;
    for (const LocalModel& model : models) {
      if (fits(model)) found.push_back(&model);
    }
  };
  keep([&](const LocalModel& model) { return ascii_lower(model.name) == wanted; });
  keep([&](const LocalModel& model) { return ascii_lower(model.name) == wanted + ":latest"; });
  keep([&](const LocalModel& model) { return is_called(model, wanted); });
  if (found.empty()) return {};
  // The same model in two stores is not ambiguous.
  const bool same = std::ranges::all_of(found, [&](const LocalModel* model) {
    return ascii_lower(model->name) == ascii_lower(found[0]->name);
  });
  if (!same) {
    std::string all;
    for (const LocalModel* model : found) {
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", printable(model->name, 250),
                         model->store);
    }
    fail(ErrorCode::kUsage, "'{}' matches several models, {}: give more of the name, or a path",
         printable(name), all);
  }
  return *found[0];
}

uint64_t remove_from_cache(const StorePlaces& places, const LocalModel& model) {
  const std::string id = model.name.substr(0, model.name.find(':'));
  const CacheRepo cache(places.hub, id);
  const fs::path repo = cache.folder();
  cache.prepare_locks();
  const Taken whole(cache.repo_lock_path(), id);
  const std::map<std::string, Snapshot> snapshots = read_snapshots(repo);
  std::map<std::string, size_t> links;  // number of links by blob
  for (const auto& [commit, snapshot] : snapshots) {
    for (const auto& [file, entry] : snapshot) ++links[entry.blob];
  }
  const std::vector<SnapshotEntry> entries = entries_of_model(model, repo, snapshots);
  std::map<std::string, Taken> blobs;  // to be removed
  for (const SnapshotEntry& entry : entries) {
    if (entry.blob.empty() || --links[entry.blob] > 0) continue;
    blobs.try_emplace(entry.blob, cache.lock_path(entry.blob), id);
  }
  for (const SnapshotEntry& entry : entries) {
    remove_path(entry.path);
    remove_empty_folders(entry.path.parent_path(), repo / "snapshots");
  }
  uint64_t freed = 0;
  for (const auto& [blob, lock] : blobs) freed += remove_blob(cache.blob_path(blob));
  remove_refs_to_nothing(repo);
  std::error_code error;
  if (!fs::is_empty(repo / "snapshots", error) || error) return freed;
  if (!entries_of(repo / "blobs").empty()) return freed;
  fs::remove_all(repo, error);
  return freed;
}

}  // namespace hearth
