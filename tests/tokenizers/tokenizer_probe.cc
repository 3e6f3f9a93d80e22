// Tokenizes for peer_test.py, which compares with other tokenizers, and for gguf_test.py, which
// compares files. Reads lines of JSON, each a text as a string, and writes for each {"ids": [...],
// "text": "..."}: its tokens, with control tokens recognised, and the text that they decode to
// without control tokens.
//
//   tokenizer_probe json TOKENIZER.json
//   tokenizer_probe gguf VOCABULARY.gguf
//   tokenizer_probe name TOKENIZER.json              prints the pre-tokenizer that cuts like it
//   tokenizer_probe ranks TIKTOKEN.model PRE         cuts by the pre-tokenizer of that name
//   tokenizer_probe ranks TIKTOKEN.model "" PATTERN  cuts by the regular expression in that file
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/utf8_stream.h"
#include "formats/model_source.h"
#include "formats/tiktoken_ranks.h"
#include "formats/tokenizer_json.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/cut_name.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxTokens = 1 << 20;

Vocab read_ranks(const std::vector<std::string>& words) {
  Vocab vocab;
  read_tiktoken_ranks(MappedFile::open(words[1]), kMaxTokens, &vocab);
  for (std::string& token : vocab.tokens) token = byte_level_encode(token);
  vocab.raw_bytes = false;
  vocab.pre = words[2];
  if (words.size() > 3) {
    std::ifstream file(words[3], std::ios::binary);
    const std::string pattern((std::istreambuf_iterator<char>(file)), {});
    vocab.rules.emplace();
    vocab.rules->cut = {SplitStep{.pattern = {pattern}}, ByteLevelStep{.use_regex = false}};
    vocab.rules->ignore_merges = true;
  }
  return vocab;
}

Vocab read_vocab(const std::vector<std::string>& words) {
  if (words.at(0) == "ranks") return read_ranks(words);
  if (words[0] == "gguf") return read_vocabulary(ModelSource::open(words.at(1), {}));
  Vocab vocab;
  read_tokenizer_json(MappedFile::open(words.at(1)), kMaxTokens, &vocab);
  return vocab;
}

void answer_lines(const Tokenizer& tokenizer) {
  for (std::string line; std::getline(std::cin, line);) {
    const boost::json::value text = read_json(line);
    const std::vector<int32_t> ids = tokenizer.encode(text.get_string(), {.parse_special = true});
    Utf8Stream stream;
    std::string decoded = stream.push(tokenizer.decode(ids));
    decoded += stream.flush();
    const boost::json::object answer = {{"ids", boost::json::array(ids.begin(), ids.end())},
                                        {"text", decoded}};
    std::cout << boost::json::serialize(answer) << "\n";
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    hearth::Vocab vocab = hearth::read_vocab(words);
    if (words[0] == "name") {
      std::cout << hearth::cut_name(vocab) << "\n";
    } else {
      hearth::answer_lines(*hearth::Tokenizer::from_vocab(std::move(vocab)));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
