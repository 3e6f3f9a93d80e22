#include "server/embedding_body.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/base64.h"
#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

boost::json::value body_of(bool base64, const std::vector<std::vector<float>>& vectors) {
  EmbeddingBody body("m\xFF", base64);
  for (const auto& vector : vectors) body.add(vector);
  return read_json(body.finish(7));
}

TEST(EmbeddingBodyTest, BothFormatsGiveEveryFloatBack) {
  std::vector<std::vector<float>> vectors = {{0.1f, -1e-8f, 1}, {1.0f / 3, 3e-39f, -0.0f}};
  boost::json::value numbers = body_of(false, vectors), text = body_of(true, vectors);
  for (const boost::json::value& body : {numbers, text}) {
    EXPECT_EQ(schema_error(read_json(openapi_json()), "EmbeddingList", body), "");
    EXPECT_EQ(body.at("model"), "m\xEF\xBF\xBD");
    EXPECT_EQ(body.at("usage").at("prompt_tokens"), 7);
  }
  for (size_t i = 0; i < vectors.size(); ++i) {
    std::vector<float> read(3);
    for (size_t j = 0; j < 3; ++j) {
      const boost::json::value& number = numbers.at("data").at(i).at("embedding").at(j);
      read[j] = static_cast<float>(number.to_number<double>());
    }
    EXPECT_EQ(read, vectors[i]);
    auto bytes = base64_decode(text.at("data").at(i).at("embedding").as_string());
    ASSERT_TRUE(bytes && bytes->size() == 3 * sizeof(float));
    std::memcpy(read.data(), bytes->data(), bytes->size());
    EXPECT_EQ(read, vectors[i]);
    EXPECT_EQ(numbers.at("data").at(i).at("index"), i);
  }
}

}  // namespace
}  // namespace hearth
