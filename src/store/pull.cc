#include "store/pull.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/printable.h"
#include "store/cache_repo.h"
#include "store/header_check.h"
#include "store/local_models.h"

namespace hearth {
namespace {

constexpr size_t kFirstHead = size_t{1} << 20, kLargestHead = size_t{256} << 20;
constexpr size_t kLargestConfig = size_t{4} << 20;

// Fetches the beginning of a file, and then longer ones until `use` returns true. Returns false if
// it never does.
bool use_head(Hub* hub, const HubName& name, const std::string& url, uint64_t size,
              const std::function<bool(std::span<const std::byte> head)>& use) {
  for (size_t bytes = kFirstHead; bytes <= kLargestHead; bytes *= 4) {
    if (use(hub->head_of(name, url, std::min<uint64_t>(bytes, size)))) return true;
  }
  return false;
}

class Pull {
 public:
  Pull(const StorePlaces& places, const HubName& name, const PullOptions& options,
       const std::atomic<bool>& stop, const PullListener& listener)
      : places_(places),
        name_(name),
        options_(options),
        stop_(stop),
        listener_(listener),
        hub_(places, options.fetch.hub, stop),
        repo_(places.hub, name.id()) {}

  PulledModel run() {
    if (places_.offline) {
      fail(ErrorCode::kUsage,
           "'{}' is not on this machine, and --offline or HF_HUB_OFFLINE forbids downloading it; "
           "`hearth list` lists the models here",
           name_.id());
    }
    pulled_.commit = hub_.commit_of(name_);
    here_ = snapshot_files(repo_.snapshot_path(pulled_.commit));
    if (find_here()) return std::move(pulled_);
    const std::vector<RepoFile> files = hub_.files_of(name_, pulled_.commit);
    const std::vector<RepoModel> models = find_repo_models(files);
    choose(models);
    if (!pulled_.whole) fetch_beside_others();
    return std::move(pulled_);
  }

 private:
  void take(const RepoModel& model) {
    pulled_.model = model;
    pulled_.name = fmt::format("{}:{}", name_.id(), printable(model.label));
    const std::string folder = repo_.snapshot_path(pulled_.commit);
    pulled_.path = model.folder ? folder : folder + "/" + model.files[0].path;
  }

  // Whether the commit's snapshot already has the model asked for; a link in it means that all
  // bytes of its file are there. For a folder only the hub knows which files belong to it: other
  // programs may have fetched some of them.
  bool find_here() {
    const std::vector<RepoModel> models = find_repo_models(here_);
    if (models.empty()) return false;
    try {
      const RepoModel& model = *repo_choices(models, name_, memory_room()).front();
      if (model.folder) return false;
      take(model);
    } catch (const Error&) {
      return false;
    }
    finish();
    return true;
  }

  bool is_here(const RepoModel& model) const {
    return std::ranges::all_of(model.files, [&](const RepoFile& wanted) {
      return std::ranges::any_of(here_, [&](const RepoFile& file) {
        return file.path == wanted.path && file.size == wanted.size;
      });
    });
  }

  void finish() {
    pulled_.whole = true;
    if (is_commit(name_.revision) || repo_.ref(name_.revision) == pulled_.commit) return;
    repo_.set_ref(name_.revision, pulled_.commit);
  }

  // Chooses the first of the possible models that runs here.
  void choose(const std::vector<RepoModel>& models) {
    const std::vector<const RepoModel*> choices = repo_choices(models, name_, memory_room());
    for (const RepoModel* choice : choices) {
      take(*choice);
      if (is_here(*choice)) return finish();
      if (options_.anyway) return;
      try {
        return check_head();
      } catch (const TypeError& error) {
        if (choice == choices.back()) refuse(error, models);
        listener_.note(fmt::format("{}; trying the next smaller type", error.what()));
      } catch (const Error& error) {
        refuse(error, models);
      }
    }
  }

  // Fetches the model with the repository's lock shared, so that no process removes a model of that
  // repository during the fetch.
  void fetch_beside_others() {
    repo_.prepare_locks();
    const CacheLock lock(repo_.repo_lock_path(), CacheLock::Use::kShared, stop_, [&] {
      listener_.note(
          fmt::format("another process is removing a model of '{}': waiting for it", name_.id()));
    });
    if (!lock.held()) return;
    repo_.prepare();
    check_space();
    fetch_all();
  }

  std::string url_of(const RepoFile& file) const {
    return hub_.file_url(name_, pulled_.commit, file.path);
  }

  void check_head() {
    const RepoModel& model = pulled_.model;
    const RepoFile& first = model.files[0];
    if (first.size == 0) {
      fail(ErrorCode::kFile, "'{}' is empty on the hub: choose another file", pulled_.name);
    }
    if (model.folder) {
      check_config_head(hub_.head_of(name_, url_of(first), kLargestConfig), model.bytes,
                        pulled_.name);
      return;
    }
    const bool alone = model.files.size() == 1;
    const bool looked = use_head(&hub_, name_, url_of(first), first.size, [&](auto head) {
      return stop_ || check_gguf_head(head, first.size, model.bytes, alone, pulled_.name);
    });
    if (!looked)
      fail(ErrorCode::kFile, "'{}' is not a GGUF file: choose another file", pulled_.name);
  }

  [[noreturn]] void refuse(const Error& error, const std::vector<RepoModel>& models) const {
    if (error.code() == ErrorCode::kFile) throw Error(error);
    throw Error(error.code(), fmt::format("{}{}; to download it anyway, give --anyway",
                                          error.what(), smaller_text(models, error.code())));
  }

  std::string smaller_text(const std::vector<RepoModel>& models, ErrorCode code) const {
    if (code != ErrorCode::kResource) return {};
    std::string text;
    for (const RepoModel& model : models) {
      if (model.bytes >= memory_room() / 10 * 9) continue;
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(model.label),
                          bytes_text(model.bytes));
    }
    return text.empty() ? "; the repository has nothing smaller that fits"
                        : "; of its models these would fit: " + text;
  }

  BlobToFetch blob_of(const RepoFile& file) const {
    return {.url = url_of(file),
            .path = file.path,
            .blob = repo_.blob_path(file.digest()),
            .size = file.size,
            .kind = file.is_large() ? DigestKind::kSha256 : DigestKind::kGitSha1,
            .digest = file.digest()};
  }

  void check_space() {
    uint64_t missing = 0, to_fetch = 0;
    for (const RepoFile& file : pulled_.model.files) {
      missing += missing_bytes(blob_of(file));
      to_fetch += file.size - fetched_bytes(blob_of(file));
    }
    struct statvfs disk {};
    if (statvfs(repo_.folder().c_str(), &disk) != 0) fail_path(repo_.folder(), "read", errno);
    const uint64_t room = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    if (missing > room) {
      fail(ErrorCode::kFile,
           "'{}' needs {} more, and the disk of '{}' has {} free: make room (`hearth remove`), or "
           "set HF_HUB_CACHE to a folder on another disk",
           pulled_.name, bytes_text(missing), repo_.folder(), bytes_text(room));
    }
    pulled_.fetched = to_fetch;
    listener_.begin(pulled_.model, to_fetch);
  }

  // Fetches a file; false where it was stopped.
  bool fetch(const RepoFile& file) {
    const BlobToFetch blob = blob_of(file);
    auto is_there = [&] {
      if (access(blob.blob.c_str(), F_OK) != 0) return false;
      // A process may have been killed between the blob's last two steps.
      drop_record(blob);
      return true;
    };
    if (is_there()) return true;
    const CacheLock lock(repo_.lock_path(blob.digest), CacheLock::Use::kAlone, stop_, [&] {
      listener_.note(
          fmt::format("another process is downloading '{}': waiting for it", printable(file.path)));
    });
    if (!lock.held()) return false;
    if (is_there()) return true;
    return fetch_blob(places_, name_, blob, options_.fetch, stop_,
                      [&](uint64_t done) { listener_.progress(file.path, done, file.size); });
  }

  void fetch_all() {
    for (const RepoFile& file : pulled_.model.files) {
      if (stop_ || !fetch(file)) return;
    }
    // Links the file that opens the model last: so a snapshot that has this file has the others,
    // too.
    std::vector<RepoFile> order(pulled_.model.files.rbegin(), pulled_.model.files.rend());
    for (const RepoFile& file : order) {
      repo_.link(pulled_.commit, file.path, blob_of(file).digest);
    }
    finish();
  }

  const StorePlaces& places_;
  const HubName& name_;
  const PullOptions& options_;
  const std::atomic<bool>& stop_;
  const PullListener& listener_;
  Hub hub_;
  CacheRepo repo_;
  std::vector<RepoFile> here_;  // in the commit's snapshot
  PulledModel pulled_;
};

}  // namespace

PulledModel pull_model(const StorePlaces& places, const HubName& name, const PullOptions& options,
                       const std::atomic<bool>& stop, const PullListener& listener) {
  return Pull(places, name, options, stop, listener).run();
}

ListedRepo list_repo(const StorePlaces& places, const HubName& name, const HubOptions& options,
                     const std::atomic<bool>& stop) {
  if (places.offline)
    fail(ErrorCode::kUsage, "HF_HUB_OFFLINE is set, so the hub is not asked: unset it to download");
  Hub hub(places, options, stop);
  const std::string commit = hub.commit_of(name);
  return {commit, find_repo_models(hub.files_of(name, commit))};
}

bool use_shape(const StorePlaces& places, const HubName& name, const std::string& commit,
               const RepoModel& model, const HubOptions& options, const std::atomic<bool>& stop,
               const std::function<void(const ModelSpec&)>& use) {
  if (model.folder || model.files.size() != 1) return false;
  Hub hub(places, options, stop);
  const RepoFile& file = model.files[0];
  return use_head(&hub, name, hub.file_url(name, commit, file.path), file.size, [&](auto head) {
    return !stop && use_gguf_head(head, file.size, name.id(), use);
  });
}

}  // namespace hearth
