// Names of models as people type them: ORG/REPO[:QUANT][@REVISION], and the addresses of the hub's
// pages (hf.co/ORG/REPO, https://huggingface.co/ORG/REPO/blob/REVISION/FILE). And paths of files in
// a repository, which a hub tells and nobody may trust.
// Errors (kUsage): a name that cannot be, by the part that is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct HubName {
  std::string org, repo;
  std::string quant;  // "Q4_K_M", a label of the repository's models, which may be a path; empty:
                      // chosen
  std::string file;   // of an address that names one; empty: chosen
  std::string revision;  // a branch, a tag or a commit; "main" where none is named

  std::string id() const { return org + "/" + repo; }
};

// Reads the name in `text`; none where it is no address and has not the form of a name, as a path
// has not.
std::optional<HubName> find_hub_name(std::string_view text);
// Reads a name where nothing but a name will do.
HubName read_hub_name(std::string_view text);

// "a commit": 40 digits of a lower-case hexadecimal number.
bool is_commit(std::string_view text);
bool is_hex(std::string_view text, size_t digits);

// Whether a file of that path lies within the folder that the path counts from, whatever there is:
// parts that are neither empty nor "." nor "..", without control characters of ASCII or
// backslashes, not too many.
bool is_safe_path(std::string_view path);

}  // namespace hearth
