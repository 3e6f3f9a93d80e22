// Asks a hub about a repository: for the commit of a revision, the list of its files, and the
// address of a file's bytes. Replies are not trusted: names, numbers and their count are checked.
//
// Errors: (kFile) a reply that no hub gives; what a reply refuses, with the remedy; (kResource) no
// reply after `tries` in a row.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/hub_http.h"
#include "store/hub_name.h"
#include "store/repo_models.h"

namespace hearth {

struct HubOptions {
  uint32_t tries = 10;  // in a row without progress, each after a longer pause
  uint32_t stall = 30;  // seconds
};

// Pauses between tries: half a second, and twice as much each time up to 30 seconds. Progress
// begins anew.
class HubPatience {
 public:
  HubPatience(const HubOptions& options, const std::atomic<bool>& stop)
      : options_(options), stop_(stop) {}
  void progressed() { failures_ = 0; }
  // Waits before the next try, for as long as the reply's Retry-After says; false where there is
  // none any more.
  bool wait(const HubReply& reply);

 private:
  const HubOptions& options_;
  const std::atomic<bool>& stop_;
  uint32_t failures_ = 0;
};

class Hub {
 public:
  Hub(const StorePlaces& places, const HubOptions& options, const std::atomic<bool>& stop)
      : places_(places), options_(options), stop_(stop), http_(places, options.stall, stop) {}

  std::string commit_of(const HubName& name);
  std::vector<RepoFile> files_of(const HubName& name, const std::string& commit);
  std::string file_url(const HubName& name, const std::string& commit,
                       const std::string& path) const;
  // Returns the first `bytes` of a file, or all where it has fewer.
  std::vector<std::byte> head_of(const HubName& name, const std::string& url, size_t bytes);

 private:
  HubReply ask(const HubName& name, const std::string& url);

  const StorePlaces& places_;
  const HubOptions& options_;
  const std::atomic<bool>& stop_;
  HubHttp http_;
};

// Throws what a reply that is not whole means for somebody who asked for a model.
[[noreturn]] void fail_reply(const StorePlaces& places, const HubName& name, const HubReply& reply);

// Files of one page of a list (the JSON of /api/models/ID/tree/COMMIT). Errors (kFile): what is no
// such page, paths that lead out of the repository, links.
std::vector<RepoFile> read_tree_page(std::string_view json);
// Returns URL of `Link: <URL>; rel="next"`; empty where there is none.
std::string next_link(std::string_view field);
// Throws (kFile) where two paths differ in case alone, or one is a folder of another.
void check_repo_paths(const std::vector<RepoFile>& files);

}  // namespace hearth
