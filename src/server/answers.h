// Answers: the requests under way whose answer takes time, of all routes, and what each needs to
// get on. Used by the reactor's thread.
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
  // The server, the worker and the log outlive it; the worker must have ended before it dies.
  Answers(HttpServer& server, RequestWorker& worker, RequestLog& log)
      : server_(server), worker_(worker), log_(log) {}
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // Hands the answer over to itself: it keeps itself alive until its end.
  void start(const std::shared_ptr<Answer>& answer);
  // Ends all with this error.
  void fail_all(const ApiError& error);

 private:
  friend class Answer;

  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  std::unordered_set<std::shared_ptr<Answer>> under_way_;
};

}  // namespace hearth
