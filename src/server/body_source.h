// BodySource: makes the body of a reply piece by piece; reply_pieces.h sends the pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8_stream.h"

namespace hearth {

inline constexpr size_t kPieceBytes = 256 << 10;

class BodySource {
 public:
  virtual ~BodySource() = default;
  // Appends the next piece, about kPieceBytes and at least a byte, and returns whether more follow.
  virtual bool next(std::string* body) = 0;
};

// The body {"key":"text"}, where the text's bytes come in pieces of any size and need not be UTF-8.
class TextBody : public BodySource {
 public:
  explicit TextBody(std::string_view key) : key_(key) {}
  bool next(std::string* body) final;

 protected:
  // Appends the text's next bytes, and returns whether more follow.
  virtual bool more(std::string* bytes) = 0;

 private:
  std::string_view key_;
  bool begun_ = false;
  Utf8Stream utf8_;
};

// MadeBody: a body that was made as a whole.
class MadeBody final : public BodySource {
 public:
  explicit MadeBody(std::string body) : body_(std::move(body)) {}
  bool next(std::string* body) override;

 private:
  const std::string body_;
  size_t at_ = 0;
};

// Reads a source to its end and returns the whole body.
std::string whole_body(BodySource& source);

}  // namespace hearth
