// Answers: the requests under way whose answer takes time, of all routes, and the objects that all
// of them use: server, worker and log. Used by the reactor's thread.
#pragma once

#include <memory>
#include <unordered_set>

#include "http/api_error.h"
#include "http/server.h"
#include "server/request_log.h"
#include "server/request_worker.h"

namespace hearth {

class Answer;

class Answers {
 public:
  // The server, the worker and the log outlive this; the worker ends before this is destroyed.
  Answers(HttpServer& server, RequestWorker& worker, RequestLog& log)
      : server_(server), worker_(worker), log_(log) {}
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // Begins the answer, which keeps itself alive until its end.
  void start(const std::shared_ptr<Answer>& answer);
  // Ends every answer under way with this error.
  void fail_all(const ApiError& error);

 private:
  friend class Answer;

  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  std::unordered_set<std::shared_ptr<Answer>> under_way_;
};

}  // namespace hearth
