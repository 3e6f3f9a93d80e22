#include "formats/safetensors_header.h"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr std::string_view kFreeText = "__metadata__";
// The depth of nesting: the header, a tensor, its shape.
constexpr uint32_t kDepth = 3;
// The most dimensions that a tensor may have; in GGUF it has 4 at most.
constexpr size_t kMaxDims = 8;

struct FormatType {
  std::string_view name;
  std::optional<DType> dtype;
};

// The types of the format, whether this program reads them or not.
constexpr std::array<FormatType, 21> kFormatTypes = {{{"F32", DType::kF32},
                                                      {"F16", DType::kF16},
                                                      {"BF16", DType::kBF16},
                                                      {"F8_E4M3", DType::kF8E4M3},
                                                      {"BOOL", {}},
                                                      {"U8", {}},
                                                      {"I8", {}},
                                                      {"F8_E5M2", {}},
                                                      {"F8_E8M0", {}},
                                                      {"F8_E4M3FNUZ", {}},
                                                      {"F8_E5M2FNUZ", {}},
                                                      {"U16", {}},
                                                      {"I16", {}},
                                                      {"U32", {}},
                                                      {"I32", {}},
                                                      {"U64", {}},
                                                      {"I64", {}},
                                                      {"F64", {}},
                                                      {"C64", {}},
                                                      {"F4", {}},
                                                      {"F6_E2M3", {}}}};

// The parser calls this for each token. It throws if the header says something that the format does
// not allow.
class HeaderHandler {
 public:
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;
  using Code = boost::json::error_code;
  using Text = boost::json::string_view;

  explicit HeaderHandler(const std::string& file) : file_(file) {}
  std::vector<SafeTensor> take() { return std::move(tensors_); }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    if (place_ == Place::kStart) return enter(Place::kHeader);
    if (place_ == Place::kHeader && text_ == kFreeText) return enter(Place::kMetadata);
    if (place_ != Place::kHeader) unexpected("an object");
    tensors_.push_back({});
    tensors_.back().name = std::move(text_);
    seen_ = 0;
    text_.clear();
    return enter(Place::kTensor);
  }
  bool on_object_end(size_t, Code&) {
    if (place_ == Place::kTensor && seen_ != kAllFields) {
      fail_tensor("has no {}", (seen_ & kType) == 0    ? "dtype"
                               : (seen_ & kShape) == 0 ? "shape"
                                                       : "data_offsets");
    }
    return enter(place_ == Place::kHeader ? Place::kEnd : Place::kHeader);
  }
  bool on_array_begin(Code&) {
    if (place_ != Place::kTensor) unexpected("an array");
    if (text_ == "shape") return enter_field(Place::kShape, kShape);
    if (text_ == "data_offsets") return enter_field(Place::kOffsets, kOffsets);
    unexpected("an array");
  }
  bool on_array_end(size_t count, Code&) {
    if (place_ == Place::kOffsets && count != 2) fail_tensor("has data_offsets of {}", count);
    return enter(Place::kTensor);
  }
  bool on_key_part(Text part, size_t, Code&) { return add(part); }
  bool on_key(Text part, size_t, Code&) {
    add(part);
    whole_ = true;
    return true;
  }
  bool on_string_part(Text part, size_t, Code&) { return add_value(part); }
  bool on_string(Text part, size_t, Code&) {
    add_value(part);
    if (place_ == Place::kTensor) set_type();
    value_.clear();
    return true;
  }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t number, Text, Code&) {
    if (number < 0) unexpected("a number below zero");
    return add_number(static_cast<uint64_t>(number));
  }
  bool on_uint64(uint64_t number, Text, Code&) { return add_number(number); }
  bool on_double(double, Text, Code&) { unexpected("a number that is not whole"); }
  bool on_bool(bool, Code&) { unexpected("a bool"); }
  bool on_null(Code&) { unexpected("null"); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  enum class Place { kStart, kHeader, kMetadata, kTensor, kShape, kOffsets, kEnd };
  enum Field : unsigned { kType = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool enter_field(Place place, Field field) {
    if ((seen_ & field) != 0) fail_tensor("has {} twice", text_);
    seen_ |= field;
    return enter(place);
  }
  // Appends a part of a key, which the parser may pass in several.
  bool add(Text part) {
    if (whole_) text_.clear();
    whole_ = false;
    text_.append(part.data(), part.size());
    return true;
  }
  bool add_value(Text part) {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || text_ != "dtype") unexpected("text");
    value_.append(part.data(), part.size());
    return true;
  }
  void set_type() {
    enter_field(Place::kTensor, kType);
    for (const FormatType& type : kFormatTypes) {
      if (type.name != value_) continue;
      tensors_.back().type = type.name;
      tensors_.back().dtype = type.dtype;
      return;
    }
    fail(ErrorCode::kFile,
         "'{}': tensor '{}' has the type {}, which is not supported: download the model in F32, "
         "F16, BF16 or F8_E4M3",
         file_, printable(tensors_.back().name), printable(value_));
  }
  bool add_number(uint64_t number) {
    if (place_ == Place::kShape) {
      std::vector<uint64_t>& shape = tensors_.back().shape;
      if (shape.size() == kMaxDims) fail_tensor("has more than {} dimensions", kMaxDims);
      shape.push_back(number);
    } else if (place_ == Place::kOffsets) {
      // `bytes` holds the range's end until check_size() turns it into the range's length.
      (offsets_++ % 2 == 0 ? tensors_.back().offset : tensors_.back().bytes) = number;
    } else {
      unexpected("a number");
    }
    return true;
  }

  template <typename... Args>
  [[noreturn]] void fail_tensor(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::kFile, "'{}': tensor '{}' {} in the header; download the file again", file_,
         printable(tensors_.back().name), fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void unexpected(std::string_view what) const {
    const bool in_tensor = place_ != Place::kStart && place_ != Place::kHeader &&
                           place_ != Place::kMetadata && place_ != Place::kEnd;
    if (in_tensor) fail_tensor("has {} for '{}'", what, printable(text_));
    fail(ErrorCode::kFile, "'{}': the header has {} for '{}'; download the file again", file_, what,
         printable(text_));
  }

  const std::string& file_;
  Place place_ = Place::kStart;
  std::vector<SafeTensor> tensors_;
  unsigned seen_ = 0;
  size_t offsets_ = 0;
  std::string text_;  // the last key that was read
  bool whole_ = true;
  std::string value_;
};

}  // namespace

std::vector<SafeTensor> parse_safetensors_header(std::string_view json, const std::string& name) {
  boost::json::parse_options options;
  options.max_depth = kDepth;
  boost::json::basic_parser<HeaderHandler> parser(options, name);
  boost::json::error_code error;
  const size_t read = parser.write_some(false, json.data(), json.size(), error);
  if (error == boost::json::error::too_deep) {
    fail(ErrorCode::kFile,
         "'{}': the header is nested deeper than {} levels at byte {}; download the file again",
         name, kDepth, 8 + read);
  }
  // Writers pad the header with spaces.
  const bool rest = json.find_first_not_of(' ', read) != std::string_view::npos;
  if (error || !parser.done() || rest) {
    fail(ErrorCode::kFile,
         "'{}': the header is not JSON at byte {}; the file is damaged, download it again", name,
         8 + read);
  }
  return parser.handler().take();
}

}  // namespace hearth
