#include "engine/job.h"

#include <new>

#include "base/check.h"

namespace hearth {

void Job::end(Result result, Finish finish, std::string_view error) noexcept {
  HEARTH_CHECK(!ends_.empty(), "a choice ends once");
  result.request = id_;
  result.finish = finish;
  try {
    result.error = error;
  } catch (const std::bad_alloc&) {
    result.error = kNoMemory;
  }
  std::list<Result> one;
  one.splice(one.end(), ends_, ends_.begin());
  one.front() = std::move(result);
  stream_->push_final(std::move(one));
}

}  // namespace hearth
