#include "formats/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Returns a tensor of `count` matrices with 2 rows of 4 columns.
SourceTensor matrices(uint64_t count) {
  SourceTensor tensor = {};
  tensor.dims = {4, 2, count};
  tensor.n_elements = 8 * count;
  return tensor;
}

std::vector<float> weights_of(const ImportanceEntry& entry, uint64_t count, uint64_t row) {
  const SourceTensor tensor = matrices(count);
  EXPECT_TRUE(entry.fits(tensor));
  std::vector<float> weights(4);
  entry.write_weights(tensor, row, weights.data());
  return weights;
}

Importance importance_of(std::vector<std::byte> bytes) {
  return Importance(MappedFile::own(std::move(bytes), "i"));
}

std::string importance_error(std::vector<std::byte> bytes) {
  return file_error([&] { importance_of(std::move(bytes)); });
}

using Floats = std::vector<float>;

// Returns a file with the entries q, of one matrix, and e, of three experts.
GgufWriter two_entries() {
  GgufWriter writer;
  writer.set("general.type", "imatrix");
  writer.set("imatrix.datasets", std::vector<std::string>{"words.txt", "more.txt"});
  writer.set("imatrix.chunk_count", 7u);
  writer.set("imatrix.chunk_size", 512u);
  writer.add_tensor("q.in_sum2", {4, 1}, Floats{2, 4, 6, 8});
  writer.add_tensor("q.counts", {1, 1}, Floats{10});
  writer.add_tensor("e.in_sum2", {4, 3}, Floats{1, 1, 1, 5, 0, 0, 0, 0, 0, 0, 0, 3});
  writer.add_tensor("e.counts", {1, 3}, Floats{2, 0, 5});
  return writer;
}

// The older form of an entry.
struct OlderEntry {
  std::string name;
  int32_t calls;
  Floats sums;
};

GgufBytes older(const std::vector<OlderEntry>& entries) {
  GgufBytes bytes;
  bytes.put(static_cast<int32_t>(entries.size()));
  for (const OlderEntry& entry : entries) {
    bytes.put(static_cast<int32_t>(entry.name.size())).raw(entry.name);
    bytes.put(entry.calls).put(static_cast<int32_t>(entry.sums.size()));
    for (const float sum : entry.sums) bytes.put(sum);
  }
  return bytes;
}

std::vector<OlderEntry> older_entries() {
  return {{"q", 10, {2, 4, 6, 8}}, {"e", 5, {1, 1, 1, 5, 2, 2, 2, 2, 0, 0, 0, 3}}};
}

void expect_entries(const Importance& importance) {
  EXPECT_EQ(importance.dataset(), "words.txt");
  EXPECT_EQ(importance.chunks(), 7);
  ASSERT_EQ(importance.entries().size(), 2u);
  EXPECT_EQ(importance.find("f"), nullptr);
  const ImportanceEntry* q = importance.find("q");
  const ImportanceEntry* e = importance.find("e");
  ASSERT_TRUE(q != nullptr && e != nullptr);
  EXPECT_EQ(weights_of(*q, 1, 1), (Floats{0.4f, 0.8f, 1.2f, 1.6f}));
  EXPECT_EQ(weights_of(*e, 3, 1), (Floats{0.5f, 0.5f, 0.5f, 2.5f}));
  EXPECT_EQ(weights_of(*e, 3, 2), (Floats{1, 1, 1, 1})) << "no token chose this expert";
  EXPECT_EQ(weights_of(*e, 3, 5), (Floats{1e-6f, 1e-6f, 1e-6f, 4})) << "columns of zeros";
  EXPECT_FALSE(q->fits(matrices(2)));
  EXPECT_FALSE(e->fits(matrices(2)));
}

TEST(Importance, ReadsAGgufFile) { expect_entries(importance_of(two_entries().finish())); }

TEST(Importance, ReadsTheOlderForm) {
  GgufBytes bytes = older(older_entries());
  bytes.put(int32_t{7}).put(int32_t{9}).raw("words.txt");
  expect_entries(importance_of(bytes.bytes()));
}

TEST(Importance, FieldsBehindOlderEntriesMayBeMissing) {
  GgufBytes bytes = older(older_entries());
  EXPECT_EQ(importance_of(bytes.bytes()).chunks(), 0);
  bytes.put(int32_t{3});
  const Importance importance = importance_of(bytes.bytes());
  EXPECT_EQ(importance.chunks(), 3);
  EXPECT_EQ(importance.dataset(), "");
}

// A file that was converted from the older form has one count for all experts.
TEST(Importance, OneCountForAllExperts) {
  GgufWriter writer;
  writer.add_tensor("e.in_sum2", {8}, Floats{1, 1, 1, 5, 2, 2, 2, 2});
  writer.add_tensor("e.counts", {1}, Floats{3});
  const Importance importance = importance_of(writer.finish());
  EXPECT_EQ(weights_of(importance.entries()[0], 2, 0), (Floats{0.5f, 0.5f, 0.5f, 2.5f}));
  EXPECT_EQ(weights_of(importance.entries()[0], 2, 3), (Floats{1, 1, 1, 1}));
}

TEST(Importance, TheLargestSumsStayFinite) {
  const float most = std::numeric_limits<float>::max();
  const Importance importance = importance_of(older({{"q", 1, {most, most, 0, most}}}).bytes());
  for (const float weight : weights_of(importance.entries()[0], 1, 0)) EXPECT_LE(weight, 4);
}

TEST(Importance, GgufFilesThatAreNoneAreRefused) {
  auto error_with = [](std::string_view name, std::vector<uint64_t> dims, const Floats& values) {
    GgufWriter writer = two_entries();
    writer.add_tensor(name, std::move(dims), values);
    return importance_error(writer.finish());
  };
  EXPECT_TRUE(says(error_with("x.in_sum2", {1}, {1}), "entry 'x' has sums but no counts"));
  GgufWriter model;
  model.add_tensor("token_embd.weight", {1}, Floats{1});
  EXPECT_TRUE(says(importance_error(model.finish()),
                   "' is not an importance matrix: it has neither tensors NAME.in_sum2 (GGUF) nor "
                   "entries in the older format; make one with llama-imatrix"));

  auto error_of = [](const Floats& sums, const Floats& counts) {
    GgufWriter writer;
    writer.add_tensor("q.in_sum2", {sums.size()}, sums);
    writer.add_tensor("q.counts", {counts.size()}, counts);
    return importance_error(writer.finish());
  };
  EXPECT_EQ(error_of({1, 2}, {1}), "");
  EXPECT_TRUE(says(error_of({1, 2, 3}, {1, 1}), "entry 'q' has 2 counts for 3 sums"));
  EXPECT_TRUE(says(error_of({1, 2}, {0}), "entry 'q' has counts of 0"));
  EXPECT_TRUE(says(error_of({1, 2}, {1, -1}), "a count of -1"));
  EXPECT_TRUE(says(error_of({1, 2}, {std::nanf("")}), "a count of nan"));
  EXPECT_TRUE(says(error_of({1, -2}, {1}), "a sum of squares of -2"));
  EXPECT_TRUE(says(error_of({1, kInfinite}, {1}), "a sum of squares of inf"));
  EXPECT_TRUE(says(error_of({std::nanf(""), 1}, {1}), "a sum of squares of nan"));

  GgufWriter halves;
  halves.add_tensor("q.in_sum2", {1}, DType::kF16, std::vector<std::byte>(2));
  halves.add_tensor("q.counts", {1}, Floats{1});
  EXPECT_TRUE(says(importance_error(halves.finish()), "sums of f16 and counts of f32"));
}

TEST(Importance, OlderFilesThatAreNoneAreRefused) {
  auto error_of = [](const std::vector<OlderEntry>& entries) {
    return importance_error(older(entries).bytes());
  };
  EXPECT_TRUE(says(error_of({{"q", 0, {1}}}), "entry 'q' has counts of 0"));
  EXPECT_TRUE(says(error_of({{"q", -3, {1}}}), "a count of -3"));
  EXPECT_TRUE(says(error_of({{"q", 1, {}}, {"r", 1, {1, 2}}}), "it has 0 values"));
  EXPECT_TRUE(says(error_of({{"", 1, {1, 2}}}), "has no name"));
  EXPECT_TRUE(says(error_of({{"q", 1, {1, kInfinite}}}), "a sum of squares of inf"));
  EXPECT_TRUE(says(error_of({{"q", 1, {1}}, {"p", 1, {1}}, {"q", 1, {1}}}), "'q' appears twice"));
  GgufBytes long_name;
  long_name.put(int32_t{1}).put(int32_t{1 << 30}).raw("some letters");
  EXPECT_TRUE(says(importance_error(long_name.put(int32_t{1}).bytes()), "its name"));
  GgufBytes negative;
  negative.put(int32_t{1}).put(int32_t{-1}).raw("some letters").put(int32_t{1});
  EXPECT_TRUE(says(importance_error(negative.bytes()), "a length of -1"));
  GgufBytes text;
  text.raw("{\"this\": \"is something else\"}");
  EXPECT_TRUE(says(importance_error(text.bytes()),
                   "' is not an importance matrix: it has neither tensors NAME.in_sum2 (GGUF) nor "
                   "entries in the older format; make one with llama-imatrix"));
}

// A file that is cut anywhere but between entries is refused.
TEST(Importance, CutFilesAreRefused) {
  const std::vector<std::byte> whole = older(older_entries()).bytes();
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_NE(importance_error({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}), "")
        << size;
  }
  const std::vector<std::byte> gguf = two_entries().finish();
  EXPECT_NE(importance_error({gguf.begin(), gguf.end() - 40}), "");
}

}  // namespace
}  // namespace hearth
