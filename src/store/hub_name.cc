#include "store/hub_name.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr size_t kLongestPart = 96, kLongestRevision = 200, kLongestPath = 1000, kMaxParts = 16;
constexpr size_t kLongestName = 1200;
constexpr std::array<std::string_view, 6> kPrefixes = {
    "https://huggingface.co/", "http://huggingface.co/", "https://hf.co/",
    "http://hf.co/",           "huggingface.co/",        "hf.co/"};

bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

bool is_part(std::string_view part, size_t longest) {
  return !part.empty() && part.size() <= longest && std::ranges::all_of(part, is_name_char) &&
         part.front() != '.' && part.find("..") == std::string_view::npos;
}

// Whether a text can be ORG or REPO. "--" is not allowed, as it separates the two in a cache's
// folder.
bool is_repo_part(std::string_view part) {
  return is_part(part, kLongestPart) && part.find("--") == std::string_view::npos &&
         part.front() != '-';
}

bool is_revision(std::string_view text) {
  return text.size() <= kLongestRevision && is_safe_path(text) &&
         std::ranges::all_of(text, [](char c) { return is_name_char(c) || c == '/'; });
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t end = path.find('/', at);
    parts.push_back(path.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// Whether a text can be a label (which tells a repository's models apart).
bool is_label(std::string_view text) {
  return is_safe_path(text) && std::ranges::all_of(parts_of(text), [](std::string_view part) {
           return is_part(part, kLongestPart);
         });
}

[[noreturn]] void refuse(std::string_view text, const char* what) {
  fail(ErrorCode::kUsage,
       "'{}' is not a model name: {}; give one such as ORG/REPO, ORG/REPO:Q4_K_M or "
       "ORG/REPO@REVISION",
       printable(text), what);
}

// Cuts off what follows the repository in a page's address, and reads it into `name`:
// .../tree/REVISION, .../blob/REVISION/FILE.
std::string_view without_page(std::string_view rest, HubName* name) {
  rest = rest.substr(0, rest.find_first_of("?#"));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::vector<std::string_view> parts = parts_of(rest);
  if (parts.size() < 4) return rest;
  const bool file = parts[2] == "blob" || parts[2] == "resolve";
  if (!file && parts[2] != "tree") return rest;
  name->revision = parts[3];
  if (file && parts.size() > 4) name->file = rest.substr(parts[4].data() - rest.data());
  return rest.substr(0, parts[2].data() - rest.data() - 1);
}

}  // namespace

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_commit(std::string_view text) { return is_hex(text, 40); }

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') return false;
  }
  const std::vector<std::string_view> parts = parts_of(path);
  return parts.size() <= kMaxParts && std::ranges::all_of(parts, [](std::string_view part) {
           return !part.empty() && part != "." && part != ".." && part.size() <= 255;
         });
}

std::optional<HubName> find_hub_name(std::string_view text) {
  HubName name;
  std::string_view rest = text;
  bool address = false;
  for (const std::string_view prefix : kPrefixes) {
    if (!address && ascii_lower(text.substr(0, prefix.size())) == prefix) {
      address = true;
      rest.remove_prefix(prefix.size());
    }
  }
  if (text.size() > kLongestName) {
    if (!address) return {};
    refuse(text, "it is too long");
  }
  if (address) rest = without_page(rest, &name);
  const size_t at = rest.find('@'), colon = rest.substr(0, at).find(':');
  if (at != std::string_view::npos) name.revision = rest.substr(at + 1);
  if (colon != std::string_view::npos) name.quant = rest.substr(0, at).substr(colon + 1);
  const std::vector<std::string_view> parts = parts_of(rest.substr(0, std::min(at, colon)));
  const bool formed = parts.size() == 2 && is_repo_part(parts[0]) && is_repo_part(parts[1]);
  if (!formed && !address) return {};
  if (!formed) refuse(text, "it needs an organisation and a repository");
  if (at != std::string_view::npos && !is_revision(name.revision)) {
    refuse(text, "its revision is not valid");
  }
  if (name.revision.empty()) name.revision = "main";
  if (!is_revision(name.revision)) refuse(text, "its revision is not valid");
  if (colon != std::string_view::npos && !is_label(name.quant)) {
    refuse(text, "the part after ':' is not a quantisation");
  }
  if (!name.file.empty() && !is_safe_path(name.file)) refuse(text, "its file name is not valid");
  name.org = parts[0];
  name.repo = parts[1];
  return name;
}

HubName read_hub_name(std::string_view text) {
  std::optional<HubName> name = find_hub_name(text);
  if (!name) refuse(text, "it needs an organisation and a repository");
  return *name;
}

}  // namespace hearth
