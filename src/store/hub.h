// Hub: asks a hub about a repository: the commit of a revision, the list of files, the address of a
// file's bytes. Replies are not trusted: names, numbers and counts are checked.
//
// Errors: (kFile) a reply that no hub gives, or one that refuses the request; then the error says
// what to do; (kResource) no reply after `tries` tries in a row.
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
  uint32_t tries = 10;  // the most tries in a row without progress
  uint32_t stall = 30;  // seconds of almost no bytes until a request is given up
};

// HubPatience: the pauses between tries: half a second, doubling up to 30 seconds. Progress resets
// it.
class HubPatience {
 public:
  HubPatience(const HubOptions& options, const std::atomic<bool>& stop)
      : options_(options), stop_(stop) {}
  void progressed() { failures_ = 0; }
  // Waits before the next try: as long as the pause lasts, or as the reply's Retry-After asks for.
  // Returns false if no tries are left, if another try would fail as well, or if `stop` is set.
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
  // Returns the first `bytes` bytes of a file, or all of a shorter one.
  std::vector<std::byte> head_of(const HubName& name, const std::string& url, size_t bytes);

 private:
  HubReply ask(const HubName& name, const std::string& url);

  const StorePlaces& places_;
  const HubOptions& options_;
  const std::atomic<bool>& stop_;
  HubHttp http_;
};

// Throws the error that tells a user who asked for a model why the reply failed.
[[noreturn]] void fail_reply(const StorePlaces& places, const HubName& name, const HubReply& reply);

// Parses one page of a list of files (the JSON of /api/models/ID/tree/COMMIT). Errors (kFile): text
// that is no such page, paths that leave the repository, links.
std::vector<RepoFile> read_tree_page(std::string_view json);
// Returns the URL in `Link: <URL>; rel="next"`; empty where there is none.
std::string next_link(std::string_view field);
// Throws (kFile) where two paths differ only in case, or one is a folder of another.
void check_repo_paths(const std::vector<RepoFile>& files);

}  // namespace hearth
