// CurlHandle: a handle of libcurl for one request at a time; the next request may reuse its
// connection. It follows no redirects, and speaks http and https only.
#pragma once

#include <curl/curl.h>

#include <new>
#include <string>

#include "base/check.h"
#include "http/client_request.h"

namespace hearth {

// Whether a URL names this machine, for which no proxy is used.
bool is_this_machine(const std::string& url);

class CurlHandle {
 public:
  // Throws Error (kResource) where libcurl cannot be initialised.
  CurlHandle();
  ~CurlHandle();
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  CURL* get() const { return handle_; }
  // Sets the handle up for a request, and resets all earlier options. `request` must outlive the
  // transfer.
  void prepare(const ClientRequest& request);

  template <typename T>
  void set(CURLoption option, T value) {
    CURLcode code = curl_easy_setopt(handle_, option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    HEARTH_CHECK(code == CURLE_OK, "libcurl knows the option");
  }

  // Returns the reply's status, once its head has come.
  unsigned status() const;
  // Returns why the transfer failed, as text.
  std::string problem(CURLcode code) const;

 private:
  void add_line(const std::string& line);

  CURL* handle_ = nullptr;
  curl_slist* lines_ = nullptr;
  char said_[CURL_ERROR_SIZE] = "";
};

}  // namespace hearth
