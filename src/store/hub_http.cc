#include "store/hub_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <set>

#include "base/ascii.h"
#include "base/bytes_text.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr int kMaxRedirects = 8;
constexpr size_t kErrorText = size_t{64} << 10, kMaxFieldBytes = size_t{256} << 10;
constexpr long kConnectSeconds = 15, kSlowBytes = 1024, kBufferBytes = 512L << 10;

// Receiving: what libcurl's callbacks fill for one request.
struct Receiving {
  HubReply reply;
  const HubSink& sink;
  const std::atomic<bool>& stop;
  size_t field_bytes = 0;
  bool too_long = false;           // the reply's head is too long
  bool refused = false;            // the sink returned false
  std::exception_ptr thrown = {};  // the sink's exception, as none may pass through libcurl
};

size_t take_field(char* data, size_t, size_t length, void* user) {
  auto& receiving = *static_cast<Receiving*>(user);
  std::string_view line(data, length);
  receiving.field_bytes += length;
  receiving.too_long = receiving.field_bytes > kMaxFieldBytes;
  if (receiving.too_long) return 0;
  if (line.starts_with("HTTP/")) receiving.reply.fields.clear();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return length;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && static_cast<unsigned char>(value.back()) <= ' ') value.remove_suffix(1);
  receiving.reply.fields[ascii_lower(line.substr(0, colon))] = value;
  return length;
}

struct BodyUser {
  Receiving* receiving;
  CurlHandle* handle;
};

size_t take_body(char* data, size_t, size_t length, void* user) {
  const auto& body = *static_cast<BodyUser*>(user);
  Receiving& receiving = *body.receiving;
  receiving.reply.status = body.handle->status();
  const bool good = receiving.reply.status >= 200 && receiving.reply.status < 300;
  try {
    if (good && receiving.sink) {
      if (receiving.sink(receiving.reply, std::as_bytes(std::span(data, length)))) return length;
      receiving.refused = true;
      return CURL_WRITEFUNC_ERROR;
    }
    std::string& text = receiving.reply.text;
    text.append(data, std::min(length, kErrorText - std::min(text.size(), kErrorText)));
    return length;
  } catch (...) {
    receiving.thrown = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

int look_up(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Receiving*>(user)->stop ? 1 : 0;
}

// Whether a failure is final: a wrong certificate or address stays wrong, so trying again is
// useless.
bool stays(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_UNSUPPORTED_PROTOCOL ||
         code == CURLE_URL_MALFORMAT || code == CURLE_SSL_CACERT_BADFILE;
}

}  // namespace

std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (!parsed) throw std::bad_alloc();
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  auto part = [&](CURLUPart which) {
    char* text = nullptr;
    curl_url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT);
    const std::unique_ptr<char, void (*)(void*)> owned(text, curl_free);
    return text == nullptr ? std::string() : ascii_lower(text);
  };
  return fmt::format("{}://{}:{}", part(CURLUPART_SCHEME), part(CURLUPART_HOST),
                     part(CURLUPART_PORT));
}

bool HubReply::may_pass() const {
  if (hopeless) return false;
  return !problem.empty() || status == 408 || status == 429 || status >= 500;
}

std::string HubReply::field(const std::string& name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

std::string HubReply::problem_text() const {
  return problem.empty() ? fmt::format("answers {}", status) : problem;
}

HubReply HubHttp::ask_once(const std::string& url, const HubRange& range, const HubSink& sink) {
  ClientRequest request{.url = url};
  const std::string end = range.end ? fmt::format("{}", *range.end - 1) : "";
  request.fields = {fmt::format("Range: bytes={}-{}", range.begin, end),
                    "Accept-Encoding: identity"};
  if (!places_.token.empty() && origin_of(url) == origin_of(places_.endpoint)) {
    request.fields.push_back("Authorization: Bearer " + places_.token);
  }
  handle_.prepare(request);
  Receiving receiving{.reply = {}, .sink = sink, .stop = stop_};
  BodyUser body{&receiving, &handle_};
  handle_.set(CURLOPT_USERAGENT, "hearth");
  handle_.set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  handle_.set(CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
  handle_.set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall_));
  handle_.set(CURLOPT_BUFFERSIZE, kBufferBytes);
  handle_.set(CURLOPT_HEADERFUNCTION, take_field);
  handle_.set(CURLOPT_HEADERDATA, &receiving);
  handle_.set(CURLOPT_WRITEFUNCTION, take_body);
  handle_.set(CURLOPT_WRITEDATA, &body);
  handle_.set(CURLOPT_XFERINFOFUNCTION, look_up);
  handle_.set(CURLOPT_XFERINFODATA, &receiving);
  handle_.set(CURLOPT_NOPROGRESS, 0L);
  const CURLcode code = curl_easy_perform(handle_.get());
  if (receiving.thrown) std::rethrow_exception(receiving.thrown);
  HubReply reply = std::move(receiving.reply);
  reply.status = handle_.status();
  reply.url = url;
  if (code != CURLE_OK) {
    reply.problem = receiving.refused    ? "it sent something else than was asked for"
                    : receiving.too_long ? "the head is longer than 256 KiB"
                                         : printable(handle_.problem(code), 300);
    reply.hopeless = receiving.too_long || stays(code);
  }
  return reply;
}

HubReply HubHttp::get(const std::string& url, const HubRange& range, const HubSink& sink) {
  std::string at = url;
  std::set<std::string> seen;
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    HubReply reply = ask_once(at, range, sink);
    if (reply.status < 300 || reply.status >= 400 || reply.status == 304) return reply;
    char* next = nullptr;
    curl_easy_getinfo(handle_.get(), CURLINFO_REDIRECT_URL, &next);
    reply.hopeless = true;
    if (next == nullptr) {
      reply.problem = fmt::format("it redirects with {} but gives no address", reply.status);
      return reply;
    }
    const std::string to = next;
    if (at.starts_with("https:") && !to.starts_with("https:")) {
      reply.problem = fmt::format("it redirects from https to '{}', which is not secure",
                                  printable(origin_of(to)));
      return reply;
    }
    if (!seen.insert(to).second) {
      reply.problem = "it redirects in a circle";
      return reply;
    }
    at = to;
  }
  HubReply reply;
  reply.problem = fmt::format("it redirects more than {} times", kMaxRedirects);
  reply.hopeless = true;
  return reply;
}

HubReply HubHttp::get_text(const std::string& url, size_t most) {
  std::string text;
  bool too_long = false;
  HubReply reply = get(url, {}, [&](const HubReply&, std::span<const std::byte> bytes) {
    too_long = text.size() + bytes.size() > most;
    if (!too_long) text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return !too_long;
  });
  if (too_long) {
    fail(ErrorCode::kFile, "'{}' answered with more than {}, which no hub does: check HF_ENDPOINT",
         printable(origin_of(reply.url)), bytes_text(most));
  }
  if (reply.status >= 200 && reply.status < 300) reply.text = std::move(text);
  return reply;
}

}  // namespace hearth
