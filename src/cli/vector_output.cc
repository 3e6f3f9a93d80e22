#include "cli/vector_output.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <vector>

#include "base/atomic_file.h"
#include "base/check.h"
#include "cli/npy.h"

namespace hearth {
namespace {

class JsonVectorOutput : public VectorOutput {
  void write_row(const VectorRow& row) override { write_stdout(vector_json(row)); }
};

class NpyVectorOutput : public VectorOutput {
 public:
  NpyVectorOutput(const std::string& path, uint32_t columns) : file_(path), columns_(columns) {
    file_.require_seekable();
    std::string header = npy_header(0, columns);
    header_bytes_ = header.size();
    file_.write(std::as_bytes(std::span(header.data(), header.size())));
  }

  void end() override {
    std::string header = npy_header(rows(), columns_);
    HEARTH_CHECK(header.size() == header_bytes_, "the header has one size for every number");
    file_.write_at_start(std::as_bytes(std::span(header.data(), header.size())));
    file_.commit();
  }

 private:
  void write_row(const VectorRow& row) override {
    HEARTH_CHECK(row.vector.size() == columns_, "all rows have one width");
    file_.write(std::as_bytes(row.vector));
  }
  void skip_row() override {
    const std::vector<float> none(columns_, std::numeric_limits<float>::quiet_NaN());
    file_.write(std::as_bytes(std::span(none)));
  }

  AtomicFile file_;
  uint32_t columns_;
  size_t header_bytes_ = 0;
};

}  // namespace

std::string vector_json(const VectorRow& row) {
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\"index\":{}", row.index);
  if (!row.id.empty()) fmt::format_to(to, ",\"id\":{}", row.id);
  fmt::format_to(to, ",\"tokens\":{}", row.tokens);
  if (row.whole > row.tokens) fmt::format_to(to, ",\"whole_tokens\":{}", row.whole);
  fmt::format_to(to, ",\"embedding\":[");
  for (size_t i = 0; i < row.vector.size(); ++i) {
    fmt::format_to(to, "{}{}", i > 0 ? "," : "", row.vector[i]);
  }
  fmt::format_to(to, "]}}\n");
  return fmt::to_string(out);
}

std::unique_ptr<VectorOutput> json_vector_output() { return std::make_unique<JsonVectorOutput>(); }

std::unique_ptr<VectorOutput> npy_vector_output(const std::string& path, uint32_t columns) {
  return std::make_unique<NpyVectorOutput>(path, columns);
}

}  // namespace hearth
