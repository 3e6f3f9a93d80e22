// Writes models in Hugging Face's layout, in memory or on the disk, for tests and fuzzers: JSON as
// text, and tensors in safetensors files. Contents are not checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hf_family.h"
#include "formats/model_source.h"

namespace hearth {

// A safetensors file. Tensors come out in the order they were added.
class SafetensorsWriter {
 public:
  void add(std::string_view name, const std::vector<uint64_t>& shape, std::string_view type,
           std::span<const std::byte> bytes);
  bool empty() const { return header_.empty(); }
  std::vector<std::byte> finish() const;

  // Returns a file with this header and `data_bytes` of data.
  static std::vector<std::byte> file(std::string_view header, size_t data_bytes);

 private:
  std::string header_;
  std::vector<std::byte> data_;
};

// Returns a family for tests of the files beside the weights: LlamaForCausalLM, with little more
// than a table of embeddings.
HfFamilies test_hf_families();

class HfFolderWriter {
 public:
  // `families` are those that source() accepts.
  explicit HfFolderWriter(HfFamilies families = test_hf_families()) : families_(families) {}
  // Sets a key of config.json; `value` is JSON.
  void set(const std::string& key, const std::string& value) { config_[key] = value; }
  void erase(const std::string& key) { config_.erase(key); }
  // Adds a tensor to the file numbered `part`. If there are several files, the folder gets an
  // index.
  void add(std::string_view name, const std::vector<uint64_t>& shape, std::string_view type,
           std::span<const std::byte> bytes, size_t part = 0);
  // Adds a tensor of zeros.
  void add_zeros(std::string_view name, const std::vector<uint64_t>& shape, std::string_view type,
                 size_t part = 0);
  void put(const std::string& file, std::string_view text) { documents_[file] = text; }

  // Returns the bytes of the files by their names.
  std::map<std::string, std::vector<std::byte>> files() const;
  ModelSource source(UnknownTypes unknown = UnknownTypes::kRefuse) const;
  // Writes the files into an existing folder.
  void save(const std::string& folder) const;

 private:
  HfFamilies families_;
  std::map<std::string, std::string> config_, documents_;
  std::vector<SafetensorsWriter> parts_;
  std::vector<std::pair<std::string, size_t>> index_;
};

// Returns a folder of a model that has `tokens` rows of embeddings, and no tokenizer.
HfFolderWriter folder_of_vocabulary(uint32_t tokens);

// Returns a row of a tensor as floats.
std::vector<float> row_of(const SourceTensor& tensor, uint64_t row);

}  // namespace hearth
