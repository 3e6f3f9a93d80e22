#include "talk/shown_answer.h"

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

constexpr std::string_view kDim = "\033[2m", kUsual = "\033[0m";

}  // namespace

ShownAnswer::ShownAnswer(unsigned columns, bool colours,
                         std::function<void(std::string_view)> write)
    : wraps_(columns > 0),
      colours_(colours),
      write_(std::move(write)),
      text_(std::max(columns, 1u)) {}

void ShownAnswer::add(bool thinking, std::string_view piece) {
  if (!wraps_) {
    if (thinking) return;
    write_(piece);
    line_open_ = !piece.ends_with('\n');
    return;
  }
  if (!begun_ || thinking != thinking_) {
    if (begun_) end_part();
    begin_part(thinking);
    // Models write empty lines between their reasoning and the answer.
    if (!thinking) piece.remove_prefix(std::min(piece.find_first_not_of('\n'), piece.size()));
  }
  if (thinking_ && colours_ && !dim_) {
    write_(kDim);
    dim_ = true;
  }
  const std::string out = text_.push(piece);
  if (!out.empty()) write_(out);
}

void ShownAnswer::begin_part(bool thinking) {
  begun_ = true;
  thinking_ = thinking;
  if (thinking && !colours_) write_("(thinking)\n");
}

void ShownAnswer::end_part() {
  std::string out = text_.flush();
  if (text_.column() > 0) out += text_.push("\n");
  write_(out);
  pause();
  if (thinking_) write_(colours_ ? "\n" : "(answer)\n");
}

void ShownAnswer::resize(unsigned columns) {
  if (wraps_) text_.resize(std::max(columns, 1u));
}

void ShownAnswer::pause() {
  if (dim_) write_(kUsual);
  dim_ = false;
}

void ShownAnswer::end() {
  if (begun_) end_part();
  if (line_open_) write_("\n");
  begun_ = line_open_ = false;
}

}  // namespace hearth
