// Describes as data in what folders of one family of models differ from others: the names of its
// classes, the keys of its config.json, and the names and layouts of its tensors. A family's table
// stands beside the family's model (models/) and is written with the rows of formats/hf_rows.h; the
// readers of config.json, of tensors and of shapes go through the rows and know no family. Rows are
// read in the order in which they stand; so are the sets of rows, of which families share some.
// What fits no table, as a rule of choosing experts, is in a family's function `read`.
//
// Rows are read in the order in which they stand; so are the sets of rows, of which families share
// some. What is no table, as a rule of choosing experts, is a family's function `read`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "formats/model_numbers.h"

namespace hearth {

struct HfReading;

// A number of a model that its config.json says, or that follows from what it says. Flags are 0
// or 1. What no row keeps is 0.
enum class HfValue : uint8_t {
  kNone,  // 0 in every model
  kOne,   // 1 in every model
  kLayers,
  kPredictLayers,  // behind these, of multi-token prediction
  kContext,        // positions; of a table of positions, rows that are in use
  kFirstPosition,  // rows of that table before this one are of no position
  kWidth,
  kFfn,
  kVocabulary,
  kTied,  // the embedding table is the head
  kHeads,
  kKvHeads,
  kHeadLength,
  kTurned,      // what RoPE turns of it
  kBias,        // queries, keys and values have biases
  kOutputBias,  // so has attention's output
  kHeadNorms,
  kExperts,  // of a layer
  kExpertFfn,
  kSharedExperts,
  kDenseLayers,  // before those with experts
  kGating,       // by GGUF's number
  kPooling,      // by GGUF's number; 0: config.json does not say
  // Numbers of multi-head latent attention:
  kQueryRank,
  kLatentRank,
  kNopeLength,
  kValueLength,
  // Numbers of a gated delta rule:
  kDeltaKeys,    // heads of queries and keys
  kDeltaValues,  // heads of values, a multiple
  kDeltaLength,  // of a head
  kTaps,         // of a convolution
  kSharedWidth,  // the FFN of one expert that all tokens take
  // Numbers of layers that may read keys and values of another layer, or keys as values:
  kOwnKeys,
  kOwnValues,
  kPerLayer,  // elements that every token has for each layer
  // The following are computed from the others (formats/hf_config.cc).
  kEvenHead,  // the width over the heads
  kFourWidths,
  kHead,  // there is a matrix for logits
  kQueryRows,
  kKeyRows,
  kRoutingBias,  // experts are chosen with a bias
  kSharedFfn,    // of all shared experts together
  kNoQueryRank,
  kLatentKey,        // what the cache holds of a position
  kLatentHead,       // the length of a query's and a key's head
  kLatentPairRows,   // of kv_b_proj
  kLatentValueRows,  // of what comes out of attention
  kGatedQueryRows,   // of queries with as many rows of a gate behind each head's
  kDeltaMixedRows,   // of what the convolution reads: all heads of queries, keys and values
  kDeltaValueRows,
  kDeltaJoinedRows,  // of these all and of the gates of values
  kDeltaGateRows,    // two for each head of values
  kTwoExpertFfns,
  kThreeWidths,
  kAllPerLayer,  // of all layers together
};
inline constexpr size_t kHfKeptValues = static_cast<size_t>(HfValue::kEvenHead);

// A text of config.json that stands for a number.
struct HfChoice {
  const char* text;
  uint32_t number;
};

// A row: one key of config.json, and the way in which it is read.
struct HfKey {
  enum class Kind : uint8_t {
    kCount,
    kReal,
    kFlag,
    kChoice,  // a text that stands for a number
    // Read and refused (kUnsupported) where it says anything but what is run:
    kMustText,
    kMustFlag,
    kMustCount,
    kMustReal,
    kMustLack,   // there is no such key
    kMustEmpty,  // an empty array
    // The following tell the kind of every layer's FFN where newer files name it.
    kLeadingDense,  // so many dense ones, before those with experts
    kNoneDense,     // refused where there is any
    // The following read nothing: they set GGUF's key to what the row itself says.
    kSayCount,
    kSayFlag,
  };
  Kind kind;
  std::string_view from = {};     // empty: of no key
  const char* to = nullptr;       // GGUF's key behind "<architecture>."; null: none
  HfValue keep = HfValue::kNone;  // as what it is kept
  uint32_t most = 0, least = 1;   // of counts
  bool needed = false;            // else a missing key stands for one of these, or for nothing:
  std::optional<double> otherwise = std::nullopt;  // also of kMust: what it must be
  HfValue otherwise_of = HfValue::kNone;
  const char* text = nullptr;  // of kChoice; of kMustText what it must be
  std::span<const HfChoice> choices = {};
  const char* known = nullptr;       // what the message says, if not "it runs 1"
  HfValue most_of = HfValue::kNone;  // `most` is this
  std::string_view other_from = {};  // the name that is read where it is there
};

enum class HfScope : uint8_t {
  kLayer,  // behind a layer's number; GGUF's behind "blk.<layer>."
  kModel,  // behind the prefix of the model
  kTop,    // the whole name, beside that prefix
};

// How a tensor, or several, become GGUF's. Names end in .weight and .bias in both but where it is
// said otherwise.
enum class HfKind : uint8_t {
  kPlain,    // as it is
  kQueries,  // the same; the heads' rows may be halves (HfFamily::halves)
  kKeys,
  kExpert,      // a matrix of one expert: {} in `from` is its number. Has no bias
  kLatentPair,  // keys and values from the latent vector, by head. Has no bias
  kWhole,       // as it is, with the names as a whole; F32
  kIgnored,     // what hyper-parameters say as well, with its name as a whole
  kPositions,   // the table of positions, from kFirstPosition on
  kGateAndUp,   // an FFN's gate, and below it what it gates, which has the name `to`: ffn_up
  kUpAndGate,   // the other way round
  // All experts of a layer in one tensor, which is named as a whole: blocks of MXFP4
  // [experts][rows][k], or biases [experts][rows].
  kExpertStack,
  kExpertPairs,     // the same, gates in even rows and ups, which have the name `to`, in odd ones
  kExpertMatrices,  // of all experts of a layer, [experts][rows][k], with the names as a whole
  kConvolution,     // [channels][1][taps], or without the 1
  // Tensors of a gated delta rule, whose heads may lie in another order (formats/hf_delta.h).
  kDeltaMixed,   // rows of all heads of queries, keys and values
  kDeltaConv,    // the same, which a convolution has: small, and read as floats
  kDeltaRows,    // of the heads of values
  kDeltaVector,  // the same with the names as a whole
  kDeltaDecay,   // the same of logarithms: GGUF has -e^x, as F32
  kDeltaOutput,  // columns of the heads of values
  kDeltaJoined,  // by key head: its query, its key, its values, their gates, which attn_gate has
};

// The layers that have a tensor: all, or some of a model with experts, or with states in place of
// attention.
enum class HfLayers : uint8_t { kAll, kDense, kSparse, kRecurrent, kAttending };

// A tensor, or one of every layer or expert. Shapes are what config.json calls for: without one a
// model's shape cannot be told by its config.json alone.
struct HfTensor {
  HfScope scope;
  HfKind kind;
  std::string_view from, to;
  HfValue rows = HfValue::kNone;
  HfValue columns = HfValue::kNone;  // kNone: of a vector
  bool linear = false;               // FP8 where the model has FP8
  HfValue bias = HfValue::kNone;     // whether it has one
  HfValue when = HfValue::kOne;      // whether it is there
  HfLayers layers = HfLayers::kAll;
};

// A few things that stand in a table as they are.
template <typename T>
class HfList {
 public:
  constexpr HfList() = default;
  constexpr HfList(std::initializer_list<T> list) : n_(list.size()) {
    T* to = items_.data();
    for (const T& item : list) *to++ = item;
  }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + n_; }
  constexpr const T& front() const { return items_[0]; }

 private:
  std::array<T, 8> items_ = {};
  size_t n_ = 0;
};
template <typename Row>
using HfSets = HfList<std::span<const Row>>;
using HfTexts = HfList<std::string_view>;

// Tensors that the model is run without.
struct HfLeftOut {
  // Names behind the model's prefix, or their beginnings, which end in a dot.
  HfTexts names;
  const char* note = "";  // behind "{} tensors "
};

// RoPE, which rope_scaling or rope_parameters and rope_theta say.
struct HfRope {
  double base = 1e4;           // where the file says none
  bool part_said = false;      // partial_rotary_factor is read; else it must be 1
  double part = 1;             // of a head, where the file says nothing
  bool scaled_scores = false;  // they grow with the scaling by a key of their own
  // The part of a head's pairs that turn where there are no settings at all, with the whole head's
  // frequencies. 0: that is not so.
  double proportional = 0;
  // The key of the base for layers with a window, which have settings of their own and no scaling,
  // and the base where config.json says none. Null: all layers turn alike.
  const char* windowed_key = nullptr;
  double windowed_base = 0;
};

// Tells which layers see a window of sliding_window positions.
struct HfWindows {
  enum class Kind : uint8_t {
    kNone,
    kAll,   // all, or none
    kSome,  // some may and others not: attention.sliding_window_pattern has a bool for each
    kOwn,   // layers are of other kinds, which the family reads
  };
  Kind kind = Kind::kNone;
  uint32_t length = 0;        // where the file says none; 0: no window then
  const char* use = nullptr;  // the flag without which there is none
  // Keys that say where the windows are where kinds of layers are not named, with the values that
  // missing keys stand for: for kAll the first layer with a window, for kSome the period, in which
  // one layer, the last, has none.
  const char* first_key = nullptr;
  uint32_t first = 0;
  const char* period_key = nullptr;
  uint32_t period = 0;
  bool last_full = false;  // the last layer has none, whatever it is named; of kSome
};

struct HfFamily {
  // The family's names in `architectures` of config.json. A name that ends in ForCausalLM stands
  // for the one that ends in Model, too, which a base model without a head has.
  HfTexts names;
  const char* gguf;  // the architecture's name in GGUF
  bool encoder = false;
  HfSets<HfKey> keys = {};
  HfRope rope = {};  // not of encoders, nor are windows
  HfWindows windows = {};
  HfSets<HfKey> more_keys = {};  // read behind RoPE and windows
  // Reads what no row says, last, and which keys it reads.
  void (*read)(const HfReading& reading) = nullptr;
  HfTexts reads = {};
  // The beginnings of tensors' names, the longest first; a name with none of them is read, too.
  // Where config.json alone tells which tensors there are, names get the first. The first is what
  // names get where config.json alone tells which tensors there are.
  HfTexts prefixes = {"model."};
  // The beginnings of layers' names behind the prefix.
  HfTexts layer_prefixes = {"layers."};
  HfSets<HfTensor> tensors = {};
  HfList<HfLeftOut> left_out = {};
  // The rows of a head of queries and keys are stored as two halves, which GGUF interleaves.
  bool halves = false;
  // Norms scale by one more than what is stored, but those of a delta rule; GGUF has that, as F32.
  bool norms_plus_one = false;
  // GGUF has heads of values dealt out, one of every key head after another; folders have those of
  // a key head beside each other.
  bool deals_heads = false;
  // text_config, where config.json has it, holds the keys of the part that makes text.
  bool text_config = false;
};

// The families, in the order in which messages name them.
using HfFamilies = std::span<const HfFamily* const>;

}  // namespace hearth
