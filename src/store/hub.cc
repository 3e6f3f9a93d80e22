#include "store/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <charconv>
#include <chrono>
#include <set>
#include <thread>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr size_t kMaxText = size_t{64} << 20, kMaxFiles = 100'000, kMaxPages = 1000;
constexpr double kFirstPause = 0.5, kLongestPause = 30, kLongestAsked = 300;
constexpr uint64_t kLargestFile = uint64_t{1} << 50;

std::string escaped(std::string_view text, bool slashes) {
  std::string out;
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || std::string_view("-._~").find(c) < 4;
    if (plain || (c == '/' && !slashes)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

boost::json::value read_reply(const HubReply& reply) {
  try {
    return read_json(reply.text);
  } catch (const Error&) {
    const bool page = reply.text.find('<') < 64;
    fail(ErrorCode::kFile,
         "'{}' answered with {} instead of JSON: check whether a proxy or a login page intervenes, "
         "and check HF_ENDPOINT",
         printable(origin_of(reply.url)), page ? "an HTML page" : "something else");
  }
}

[[noreturn]] void fail_page(const char* what, std::string_view path = {}) {
  fail(ErrorCode::kFile, "the hub's list of files is not valid: {}{}", what,
       path.empty() ? "" : fmt::format(" '{}'", printable(path)));
}

const boost::json::value* member(const boost::json::object& object, const char* key) {
  return object.if_contains(key);
}

std::string text_member(const boost::json::object& object, const char* key) {
  const boost::json::value* value = member(object, key);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

std::optional<uint64_t> size_member(const boost::json::object& object) {
  const boost::json::value* value = member(object, "size");
  if (value == nullptr || !value->is_number()) return {};
  if (value->is_int64() && value->get_int64() >= 0) return value->get_int64();
  return value->is_uint64() ? std::optional(value->get_uint64()) : std::nullopt;
}

RepoFile read_file_entry(const boost::json::object& entry, std::string path) {
  RepoFile file{.path = std::move(path)};
  std::optional<uint64_t> size = size_member(entry);
  file.git_sha1 = text_member(entry, "oid");
  if (const boost::json::value* lfs = member(entry, "lfs"); lfs != nullptr && lfs->is_object()) {
    file.sha256 = text_member(lfs->get_object(), "oid");
    if (const std::optional<uint64_t> whole = size_member(lfs->get_object())) size = whole;
    if (!is_hex(file.sha256, 64)) fail_page("it has no SHA-256 of", file.path);
  } else if (!is_hex(file.git_sha1, 40)) {
    fail_page("it has no digest of", file.path);
  }
  if (!size || *size > kLargestFile) fail_page("it has no size of", file.path);
  file.size = *size;
  return file;
}

}  // namespace

bool HubPatience::wait(const HubReply& reply) {
  if (stop_ || ++failures_ > options_.tries || !reply.may_pass()) return false;
  double pause = std::min(kFirstPause * static_cast<double>(1u << std::min(failures_ - 1, 10u)),
                          kLongestPause);
  const std::string asked = reply.field("retry-after");
  double seconds = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), seconds);
  if (error == std::errc{} && end != asked.data() && seconds >= 0) {
    pause = std::min(seconds, kLongestAsked);
  }
  for (const double until = steady_seconds() + pause; steady_seconds() < until && !stop_;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !stop_;
}

void fail_reply(const StorePlaces& places, const HubName& name, const HubReply& reply) {
  const std::string page = fmt::format("{}/{}", places.endpoint, name.id());
  if (!reply.problem.empty() || reply.may_pass()) {
    fail(ErrorCode::kResource, "the hub at '{}' {}; what was downloaded is kept: try again later",
         printable(origin_of(reply.url.empty() ? places.endpoint : reply.url)),
         reply.problem.empty() ? fmt::format("answers {}", reply.status)
                               : "did not send a complete reply: " + reply.problem);
  }
  const std::string code = reply.field("x-error-code");
  if (code == "GatedRepo" || reply.status == 403) {
    fail(ErrorCode::kFile,
         "'{}' is gated: accept its terms at {} and set HF_TOKEN to a token of that account",
         name.id(), page);
  }
  if (reply.status == 401) {
    fail(ErrorCode::kFile, "'{}' does not exist, or is private: check the name, or set HF_TOKEN{}",
         name.id(), places.token.empty() ? "" : "; the current token has no access");
  }
  if (reply.status == 404 && code == "RevisionNotFound") {
    fail(ErrorCode::kFile, "'{}' has no revision '{}': see {} for its revisions", name.id(),
         name.revision, page);
  }
  if (reply.status == 404) {
    fail(ErrorCode::kFile, "the hub has no '{}' of revision '{}'{}: check the name at {}",
         name.id(), name.revision, code == "EntryNotFound" ? " with such a file" : "",
         places.endpoint);
  }
  fail(ErrorCode::kFile, "the hub answered {} to the request for '{}': {}", reply.status, name.id(),
       printable(reply.text, 200));
}

HubReply Hub::ask(const HubName& name, const std::string& url) {
  HubPatience patience(options_, stop_);
  for (;;) {
    HubReply reply = http_.get_text(url, kMaxText);
    if (reply.whole()) return reply;
    if (!patience.wait(reply)) fail_reply(places_, name, reply);
  }
}

std::string Hub::commit_of(const HubName& name) {
  const HubReply reply = ask(name, fmt::format("{}/api/models/{}/revision/{}", places_.endpoint,
                                               name.id(), escaped(name.revision, true)));
  const boost::json::value value = read_reply(reply);
  std::string commit = value.is_object() ? text_member(value.get_object(), "sha") : "";
  if (is_commit(commit)) return commit;
  fail(ErrorCode::kFile, "the hub names no commit for '{}' at revision '{}': try again later",
       name.id(), name.revision);
}

std::vector<RepoFile> Hub::files_of(const HubName& name, const std::string& commit) {
  std::string url =
      fmt::format("{}/api/models/{}/tree/{}?recursive=true", places_.endpoint, name.id(), commit);
  std::set<std::string> seen;
  std::vector<RepoFile> files;
  while (!url.empty()) {
    if (!seen.insert(url).second) fail_page("its pages form a loop");
    if (seen.size() > kMaxPages) fail_page("it has too many pages");
    if (origin_of(url) != origin_of(places_.endpoint)) {
      fail_page("its next page is on another host:", origin_of(url));
    }
    const HubReply reply = ask(name, url);
    read_reply(reply);
    for (RepoFile& file : read_tree_page(reply.text)) files.push_back(std::move(file));
    if (files.size() > kMaxFiles) fail_page("it has more than 100000 files");
    url = next_link(reply.field("link"));
  }
  check_repo_paths(files);
  return files;
}

std::string Hub::file_url(const HubName& name, const std::string& commit,
                          const std::string& path) const {
  return fmt::format("{}/{}/resolve/{}/{}", places_.endpoint, name.id(), commit,
                     escaped(path, false));
}

std::vector<std::byte> Hub::head_of(const HubName& name, const std::string& url, size_t bytes) {
  HubPatience patience(options_, stop_);
  for (;;) {
    std::vector<std::byte> head;
    const HubReply reply =
        http_.get(url, {0, bytes}, [&](const HubReply&, std::span<const std::byte> more) {
          head.insert(head.end(), more.begin(), more.end());
          return head.size() < bytes;
        });
    if (reply.whole() || head.size() >= bytes) {
      head.resize(std::min(head.size(), bytes));
      return head;
    }
    if (!patience.wait(reply)) fail_reply(places_, name, reply);
  }
}

std::vector<RepoFile> read_tree_page(std::string_view json) {
  boost::json::value page;
  try {
    page = read_json(json);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "the hub's list of files is not JSON: {}", error.what());
  }
  if (!page.is_array()) fail_page("it is not a list");
  std::vector<RepoFile> files;
  for (const boost::json::value& value : page.get_array()) {
    if (!value.is_object()) fail_page("it has entries that are not files");
    const boost::json::object& entry = value.get_object();
    const std::string path = text_member(entry, "path"), type = text_member(entry, "type");
    if (!is_safe_path(path)) fail_page("it has the invalid path", path.empty() ? "(none)" : path);
    if (type == "directory") continue;
    if (type != "file") fail_page("it has an entry that is neither a file nor a folder,", path);
    files.push_back(read_file_entry(entry, path));
  }
  return files;
}

std::string next_link(std::string_view field) {
  while (!field.empty()) {
    const size_t begin = field.find('<'), end = field.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const std::string_view rest = field.substr(end + 1);
    const std::string_view parameters = rest.substr(0, rest.find('<'));
    if (parameters.find("rel=\"next\"") != std::string_view::npos ||
        parameters.find("rel=next") != std::string_view::npos) {
      return std::string(field.substr(begin + 1, end - begin - 1));
    }
    field = rest;
  }
  return {};
}

void check_repo_paths(const std::vector<RepoFile>& files) {
  std::set<std::string> paths;
  for (const RepoFile& file : files) {
    if (!paths.insert(ascii_lower(file.path)).second) {
      fail_page("two of its files have the same name, or differ only in case:", file.path);
    }
  }
  for (const std::string& path : paths) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      if (paths.contains(path.substr(0, slash)))
        fail_page("a path is both a file and a folder:", path);
    }
  }
}

}  // namespace hearth
