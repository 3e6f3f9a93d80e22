// HubName: a model's name as people type it: ORG/REPO[:QUANT][@REVISION], or the address of a hub's
// page (hf.co/ORG/REPO, https://huggingface.co/ORG/REPO/blob/REVISION/FILE). Also checks paths of a
// repository's files, which hubs send and which are not trusted. Errors (kUsage): an impossible
// name; the error tells which part is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct HubName {
  std::string org, repo;
  // A label of the repository's models ("Q4_K_M"), which may be a path; empty: chosen.
  std::string quant;
  std::string file;      // from an address of a file; empty: chosen
  std::string revision;  // a branch, a tag or a commit; "main" where none is named

  std::string id() const { return org + "/" + repo; }
};

// Reads a name or an address; nothing for other texts, such as the path of a file.
std::optional<HubName> find_hub_name(std::string_view text);
// Reads a text that must be a name. Throws (kUsage).
HubName read_hub_name(std::string_view text);

// is_commit(): whether a text is 40 lower-case hexadecimal digits.
bool is_commit(std::string_view text);
bool is_hex(std::string_view text, size_t digits);

// Whether a relative path stays within its folder, whatever lies there: its parts are not empty,
// "." or "..", have no ASCII control characters or backslashes, and are not too many.
bool is_safe_path(std::string_view path);

}  // namespace hearth
