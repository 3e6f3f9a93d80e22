// Asks a server of OpenAI's API for chat completions and hands on the answer as it comes
// (text/event-stream). One request at a time; signals are looked at meanwhile.
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

// The address and the model of a chat.
struct ChatEndpoint {
  std::string url;  // up to "/v1", without a slash at its end
  std::string key = {};
  std::string model = {};
};

// "http://HOST:8080" or "https://HOST/api/v1" as ChatEndpoint has it: where there is no path, "/v1"
// is added. Errors (kUsage): not http or https.
std::string endpoint_url(const std::string& url);

struct ChatAnswer {
  std::string text, thinking;
  std::string finish;    // "stop", "length"; empty: it did not come to an end
  std::string problem;   // what ended it instead, as a sentence; empty: nothing did
  bool stopped = false;  // by a signal
  std::optional<uint64_t> prompt_tokens, cached_tokens, tokens;  // where the server told
  double first_seconds = 0;  // from the question to the first text
  double seconds = 0;        // from there to the end
};

// A piece of an answer, of its thinking or its text.
using OnPiece = std::function<void(bool thinking, std::string_view piece)>;
// Returns whether the answer is to be stopped.
using OnSignal = std::function<bool(int signal)>;

class ChatClient {
 public:
  explicit ChatClient(const TerminalSignals& signals);

  // `body` is the request's JSON, with "stream": true.
  ChatAnswer ask(const ChatEndpoint& endpoint, const std::string& body, const OnPiece& on_piece,
                 const OnSignal& on_signal);
  // The names of the models that the server has. Errors (kResource): it does not say.
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
