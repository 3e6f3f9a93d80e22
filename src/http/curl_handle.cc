#include "http/curl_handle.h"

#include "base/error.h"

namespace hearth {

bool is_this_machine(const std::string& url) {
  for (const char* host : {"://127.", "://localhost", "://[::1]"}) {
    if (url.find(host) != std::string::npos) return true;
  }
  return false;
}

CurlHandle::CurlHandle() {
  // libcurl counts these calls, and any thread may make them.
  CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) {
    fail(ErrorCode::kResource, "cannot start libcurl: {}", curl_easy_strerror(code));
  }
  handle_ = curl_easy_init();
  if (handle_ == nullptr) {
    curl_global_cleanup();
    throw std::bad_alloc();
  }
}

CurlHandle::~CurlHandle() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(lines_);
  curl_global_cleanup();
}

void CurlHandle::prepare(const ClientRequest& request) {
  curl_easy_reset(handle_);
  curl_slist_free_all(lines_);
  lines_ = nullptr;
  said_[0] = '\0';
  // An empty Expect keeps libcurl from sending "Expect: 100-continue" and waiting before a long
  // body.
  add_line("Expect:");
  for (const std::string& line : request.fields) add_line(line);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, lines_);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, said_);
  if (!request.body) return;
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
  set(CURLOPT_POSTFIELDS, request.body->data());
}

void CurlHandle::add_line(const std::string& line) {
  curl_slist* longer = curl_slist_append(lines_, line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  lines_ = longer;
}

unsigned CurlHandle::status() const {
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<unsigned>(status);
}

std::string CurlHandle::problem(CURLcode code) const {
  return said_[0] != '\0' ? said_ : curl_easy_strerror(code);
}

}  // namespace hearth
