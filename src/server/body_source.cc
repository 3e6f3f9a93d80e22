#include "server/body_source.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace hearth {
namespace {

// Returns a text escaped as it stands between the quotes of a JSON string.
std::string json_inside(std::string_view text) {
  std::string line = Json().text(text).line();
  return line.substr(1, line.size() - 3);
}

}  // namespace

bool TextBody::next(std::string* body) {
  constexpr size_t kPartBytes = 16 << 10;
  if (!std::exchange(begun_, true)) body->append("{\"").append(key_).append("\":\"");
  // `body` may already hold text.
  const size_t enough = body->size() + kPieceBytes;
  bool any = true;
  while (any && body->size() < enough) {
    std::string bytes;
    while (any && bytes.size() < kPartBytes) any = more(&bytes);
    body->append(json_inside(utf8_.push(bytes)));
  }
  if (!any) body->append(json_inside(utf8_.flush())).append("\"}\n");
  return any;
}

bool MadeBody::next(std::string* body) {
  const size_t bytes = std::min(kPieceBytes, body_.size() - at_);
  body->append(body_, at_, bytes);
  at_ += bytes;
  return at_ < body_.size();
}

std::string whole_body(BodySource& source) {
  std::string body;
  while (source.next(&body)) {
  }
  return body;
}

}  // namespace hearth
