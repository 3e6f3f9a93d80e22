// Fuzzes pages of a hub's list of files, and the link to the next page, with hostile bytes. Only
// hearth::Error may be thrown. Paths that are read stay in their folder and have digests. The
// models made of such files are tried too.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "store/hub.h"
#include "store/repo_models.h"

namespace hearth {
namespace {

void use(const std::vector<RepoFile>& files) {
  for (const RepoFile& file : files) {
    HEARTH_CHECK(is_safe_path(file.path), "a path stays in its folder");
    HEARTH_CHECK(is_hex(file.sha256, 64) || is_hex(file.git_sha1, 40), "a file has a digest");
  }
  check_repo_paths(files);
  for (const RepoModel& model : find_repo_models(files)) {
    HEARTH_CHECK(!model.files.empty(), "a model has files");
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  hearth::next_link(text);
  try {
    hearth::use(hearth::read_tree_page(text));
  } catch (const hearth::Error&) {
    // A text that is not a page must throw this exception and no other.
  }
  return 0;
}
