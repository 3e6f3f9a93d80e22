// One handle of libcurl, for one request at a time; its connection may serve the next one.
// Redirects are not followed, and no other protocols are spoken than http and https.
#pragma once

#include <curl/curl.h>

#include <new>
#include <string>

#include "base/check.h"
#include "http/client_request.h"

namespace hearth {

// Whether a URL names this machine, for which no proxy is asked.
bool is_this_machine(const std::string& url);

class CurlHandle {
 public:
  // Throws Error (kResource) where libcurl does not start.
  CurlHandle();
  ~CurlHandle();
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  CURL* get() const { return handle_; }
  // Forgets the request before and its options. `request` outlives the next transfer.
  void prepare(const ClientRequest& request);

  template <typename T>
  void set(CURLoption option, T value) {
    CURLcode code = curl_easy_setopt(handle_, option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    HEARTH_CHECK(code == CURLE_OK, "libcurl knows the option");
  }

  // Returns the status of the reply, once its head has come.
  unsigned status() const;
  // Returns the cause of the transfer's failure.
  std::string problem(CURLcode code) const;

 private:
  void add_line(const std::string& line);

  CURL* handle_ = nullptr;
  curl_slist* lines_ = nullptr;
  char said_[CURL_ERROR_SIZE] = "";
};

}  // namespace hearth
