// Fuzzes chat templates over conversations of any JSON. The first line of the input is the request
// (JSON), the rest the template's source.
//   - a template is rendered within its limits, or refused by an Error that gives its line
//   - the text is UTF-8, and the ranges that came from the request are in order and inside it
//   - rendering twice gives the same text
//   - an empty request contributes nothing to the text

#include <algorithm>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "template/chat_template.h"
#include "template/template_eval.h"

namespace hearth {
namespace {

std::tm fixed_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mday = 5;
  return time;
}

void check_chat(const RenderedChat& chat) {
  HEARTH_CHECK(chat.text.size() <= kRenderedBytes, "a rendered chat is too long");
  HEARTH_CHECK(is_well_formed(chat.text), "a rendered chat is not UTF-8");
  size_t last = 0;
  for (auto [begin, end] : chat.untrusted) {
    HEARTH_CHECK(begin >= last && begin < end && end <= chat.text.size(),
                 "ranges are not in order");
    last = end;
  }
}

void run(std::string_view input) {
  size_t line = std::min(input.find('\n'), input.size());
  boost::json::object own = {{"bos_token", "<s>"}, {"add_generation_prompt", true}};
  try {
    boost::json::value request = read_json(input.substr(0, line));
    if (!request.is_object()) request = boost::json::object{{"messages", request}};
    ChatTemplate chat_template(input.substr(std::min(line + 1, input.size())), fixed_time);
    RenderedChat chat = chat_template.render(request.get_object(), own);
    check_chat(chat);
    RenderedChat again = chat_template.render(request.get_object(), own);
    HEARTH_CHECK(again.text == chat.text && again.untrusted == chat.untrusted,
                 "a template renders another text the second time");
    if (request.get_object().empty()) {
      HEARTH_CHECK(chat.untrusted.empty(), "an empty request gave bytes");
    }
  } catch (const Error& error) {
    HEARTH_CHECK(std::string_view(error.what()).size() < 2000, "an error is too long");
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
