// ChatClient: sends chat completions to a server of OpenAI's API and hands on the answer's pieces
// as they come (text/event-stream). It sends one request at a time, and handles signals while it
// waits for the answer.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/curl_handle.h"
#include "http/event_reader.h"
#include "talk/terminal_signals.h"

namespace hearth {

// ChatEndpoint: a server's address, and the model to ask.
struct ChatEndpoint {
  std::string url;  // up to "/v1", without a slash at its end
  std::string key = {};
  std::string model = {};
};

// Returns a server's address ("http://HOST:8080" or "https://HOST/api/v1") in ChatEndpoint's form:
// "/v1" is added where there is no path. Errors (kUsage): neither http nor https.
std::string endpoint_url(const std::string& url);

struct ChatAnswer {
  std::string text, thinking;
  std::string finish;    // "stop", "length"; empty: it did not come to an end
  std::string problem;   // the error that ended it, as a sentence; empty: none
  bool stopped = false;  // stopped by a signal
  std::optional<uint64_t> prompt_tokens, cached_tokens, tokens;  // if the server sent them
  double first_seconds = 0;  // from the question to the first piece
  double seconds = 0;        // from the first piece to the end
};

// Called with each piece of an answer, of its reasoning (`thinking`) or its text.
using OnPiece = std::function<void(bool thinking, std::string_view piece)>;
// Called for a signal; returns whether to stop the answer.
using OnSignal = std::function<bool(int signal)>;

class ChatClient {
 public:
  explicit ChatClient(const TerminalSignals& signals);

  // Sends a chat and returns how its answer ended. `body`: the request's JSON, with "stream": true.
  ChatAnswer ask(const ChatEndpoint& endpoint, const std::string& body, const OnPiece& on_piece,
                 const OnSignal& on_signal);
  // Returns the names of the server's models. Errors (kResource): the server does not list them.
  std::vector<std::string> models(const ChatEndpoint& endpoint, const OnSignal& on_signal);

 private:
  struct Transfer;
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  static size_t take_bytes(char* bytes, size_t size, size_t count, void* transfer);
  void run(Transfer& transfer, const ChatEndpoint& endpoint, const OnSignal& on_signal);

  const TerminalSignals& signals_;
  CurlHandle handle_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
};

}  // namespace hearth
