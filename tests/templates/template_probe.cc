// Renders templates for template_test.py, which compares them with Jinja. Reads lines of JSON from
// the first file,
//    {"source": "...", "request": {...}, "own": {...}}
// and writes a line for each to the second: {"text": "...", "foreign": [[begin, end], ...]} or
// {"error": "..."}. The clock stands still. If HEARTH_PROBE_VOCABULARY in the environment names a
// GGUF file, "ids" are the text's tokens with these foreign bytes, and "whole" its tokens without.
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_reader.h"
#include "template/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

std::tm fixed_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 5;
  time.tm_wday = 5;
  time.tm_yday = 186;
  time.tm_hour = 14;
  time.tm_min = 3;
  time.tm_sec = 9;
  return time;
}

class Probe {
 public:
  explicit Probe(const char* vocabulary) {
    if (vocabulary != nullptr)
      tokenizer_ = Tokenizer::from_source(ModelSource::open(vocabulary, {}));
  }

  boost::json::object answer(const boost::json::object& line) {
    try {
      std::string source(line.at("source").as_string());
      auto found = templates_.find(source);
      if (found == templates_.end()) {
        found = templates_.try_emplace(source, source, fixed_time).first;
      }
      RenderedChat chat =
          found->second.render(line.at("request").as_object(), line.at("own").as_object());
      boost::json::array untrusted;
      for (auto [begin, end] : chat.untrusted) untrusted.push_back(boost::json::array{begin, end});
      boost::json::object answer = {{"text", chat.text}, {"foreign", untrusted}};
      if (tokenizer_ != nullptr) add_ids(chat, &answer);
      return answer;
    } catch (const Error& error) {
      return {{"error", error.what()}};
    }
  }

 private:
  void add_ids(const RenderedChat& chat, boost::json::object* answer) const {
    EncodeOptions options;
    options.parse_special = true;
    std::vector<int32_t> whole = tokenizer_->encode(chat.text, options);
    (*answer)["whole_controls"] = controls_of(whole).size();
    (*answer)["whole"] = boost::json::value_from(whole);
    options.untrusted = chat.untrusted;
    std::vector<int32_t> ids = tokenizer_->encode(chat.text, options);
    (*answer)["controls"] = boost::json::value_from(controls_of(ids));
    (*answer)["ids"] = boost::json::value_from(ids);
  }

  std::vector<int32_t> controls_of(std::vector<int32_t> ids) const {
    std::erase_if(ids, [&](int32_t id) { return !tokenizer_->is_control(id); });
    return ids;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::map<std::string, ChatTemplate> templates_;
};

// Prints the texts of all control tokens.
int print_controls(const char* vocabulary) {
  auto tokenizer = Tokenizer::from_source(ModelSource::open(vocabulary, {}));
  boost::json::array controls;
  for (int32_t id = 0; id < static_cast<int32_t>(tokenizer->size()); ++id) {
    if (tokenizer->is_control(id)) controls.emplace_back(tokenizer->token_text(id));
  }
  std::puts(boost::json::serialize(controls).c_str());
  return 0;
}

int run(const char* from, const char* to) {
  if (std::string(from) == "--controls") return print_controls(to);
  Probe probe(std::getenv("HEARTH_PROBE_VOCABULARY"));
  std::ifstream in(from);
  std::ofstream out(to);
  for (std::string line; std::getline(in, line);) {
    out << boost::json::serialize(probe.answer(read_json(line, 200).as_object())) << '\n';
  }
  return in.eof() && out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("template_probe FROM TO, or --controls FILE\n", stderr);
    return 2;
  }
  return hearth::run(argv[1], argv[2]);
}
