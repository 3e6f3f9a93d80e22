// Describes as data how folders of one family of models differ from others: the names of its
// classes, the keys of its config.json, and the names and layouts of its tensors. A family's table
// stands beside the family's model (models/) and is written with the rows of formats/hf_rows.h; the
// readers of config.json, of tensors and of shapes go through the rows and know no family.
//
// Rows are read in the order in which they stand, and so are sets of rows. Several families may
// share a set. Anything that fits no table, such as a rule of choosing experts, is read by the
// family's function `read`.
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

// A number of a model that its config.json states, or that is computed from what it states. Flags
// are 0 or 1. A number that no row sets is 0.
enum class HfValue : uint8_t {
  kNone,  // 0 in every model
  kOne,   // 1 in every model
  kLayers,
  kPredictLayers,  // layers of multi-token prediction, which follow kLayers
  kContext,        // positions; of a table of positions, its usable rows
  kFirstPosition,  // unused rows at the start of that table
  kWidth,
  kFfn,
  kVocabulary,
  kTied,  // the embedding table gives logits, too
  kHeads,
  kKvHeads,
  kHeadLength,
  kRopeLength,  // elements of a head that RoPE rotates
  kBias,        // queries, keys and values have biases
  kOutputBias,  // attention's output has a bias
  kHeadNorms,
  kExperts,  // in a layer
  kExpertFfn,
  kSharedExperts,
  kDenseLayers,  // layers before the first with experts
  kGating,       // by GGUF's number
  kPooling,      // by GGUF's number; 0: config.json does not say
  // Numbers of multi-head latent attention:
  kQLoraRank,
  kKvLoraRank,
  kNopeLength,
  kValueLength,
  // Numbers of a gated delta rule:
  kDeltaKeys,    // heads of queries and keys
  kDeltaValues,  // heads of values, a multiple of kDeltaKeys
  kDeltaLength,  // elements of a head
  kTaps,         // taps of the convolution
  kSharedWidth,  // the FFN width of the one shared expert
  // Numbers of layers that may use another layer's keys and values, or their own keys as values:
  kOwnKeys,
  kOwnValues,
  kPerLayer,  // elements of a token's own embedding in each layer
  // The following are computed from the others (formats/hf_config.cc).
  kEvenHead,  // kWidth / kHeads
  kFourWidths,
  kHead,  // logits have a matrix of their own
  kQueryRows,
  kKeyRows,
  kRoutingBias,  // experts are chosen with a bias
  kSharedFfn,    // the FFN width of all shared experts together
  kNoQueryRank,
  kLatentKey,        // elements that the KV cache holds of a position
  kLatentHead,       // elements of a query's and a key's head
  kLatentPairRows,   // rows of kv_b_proj
  kLatentValueRows,  // all heads' values: columns of the output matrix
  kGatedQueryRows,   // rows of q_proj if a gate follows each head's queries
  kDeltaMixedRows,   // rows of all heads of queries, keys and values, which the convolution reads
  kDeltaValueRows,
  kDeltaJoinedRows,  // kDeltaMixedRows and the gates of values
  kDeltaGateRows,    // two for each head of values
  kTwoExpertFfns,
  kThreeWidths,
  kAllPerLayer,  // kPerLayer of all layers together
};
inline constexpr size_t kHfKeptValues = static_cast<size_t>(HfValue::kEvenHead);

// A string of config.json, and the number that it stands for.
struct HfChoice {
  const char* text;
  uint32_t number;
};

// A row of the table of keys: one key of config.json, and how it is read.
struct HfKey {
  enum class Kind : uint8_t {
    kCount,
    kReal,
    kFlag,
    kChoice,  // a string that stands for a number (HfChoice)
    // The key must have the row's value, else the file is refused (kUnsupported):
    kMustText,
    kMustFlag,
    kMustCount,
    kMustReal,
    kMustLack,   // the key must be missing
    kMustEmpty,  // the value must be an empty array
    // The following read newer files' list of each layer's kind of FFN.
    kLeadingDense,  // the number of dense layers, which precede those with experts
    kNoneDense,     // refuses any dense layer
    // The following read nothing: they set GGUF's key to the row's own number.
    kSayCount,
    kSayFlag,
  };
  Kind kind;
  std::string_view from = {};     // the key; empty: the row reads none
  const char* to = nullptr;       // GGUF's key behind "<architecture>."; null: none
  HfValue keep = HfValue::kNone;  // the number of the model that it becomes
  uint32_t most = 0, least = 1;   // the range of a count
  bool needed = false;            // a missing key is an error, else its value is:
  std::optional<double> otherwise = std::nullopt;  // this number; also what kMust... demands
  HfValue otherwise_of = HfValue::kNone;
  const char* text = nullptr;  // or this text, for kChoice; also what kMustText demands
  std::span<const HfChoice> choices = {};
  const char* known = nullptr;       // what the message says, if not "it runs 1"
  HfValue most_of = HfValue::kNone;  // the number that takes the place of `most`
  std::string_view other_from = {};  // another name of the key, which has precedence
};

enum class HfScope : uint8_t {
  kLayer,  // behind a layer's number; GGUF's behind "blk.<layer>."
  kModel,  // behind the model's prefix
  kTop,    // the whole name, without a prefix
};

// How a tensor of a folder becomes one or several of GGUF's. Names of both get .weight or .bias,
// unless the kind says "whole name".
enum class HfKind : uint8_t {
  kPlain,    // unchanged
  kQueries,  // unchanged, but heads' rows may be stored as halves (HfFamily::halves)
  kKeys,
  kExpert,      // one expert's matrix, {} in `from` is its number; no bias
  kLatentPair,  // the keys' and values' matrix of the latent vector, by head; no bias
  kWhole,       // unchanged, of F32; whole name
  kIgnored,     // not used: hyper-parameters say the same; whole name
  kPositions,   // the table of positions, from row kFirstPosition on
  kGateAndUp,   // rows of an FFN's gate, then those of its up matrix, which `to` names: ffn_up
  kUpAndGate,   // the same with the up matrix first
  // All experts of a layer in one tensor; whole name: blocks of MXFP4 [experts][rows][k], or biases
  // [experts][rows].
  kExpertStack,
  kExpertPairs,     // the same with gates in even rows and the up matrix, named `to`, in odd ones
  kExpertMatrices,  // all experts of a layer, [experts][rows][k]; whole name
  kConvolution,     // [channels][1][taps] or [channels][taps]
  // Tensors of a gated delta rule, whose heads GGUF may have in another order (formats/hf_delta.h).
  kDeltaMixed,   // rows of all heads of queries, keys and values
  kDeltaConv,    // the convolution's taps for the same rows: small, read as floats
  kDeltaRows,    // rows of the heads of values
  kDeltaVector,  // elements of the heads of values; whole name
  kDeltaDecay,   // the same, logarithms x, which GGUF has as -e^x in F32
  kDeltaOutput,  // columns of the heads of values
  kDeltaJoined,  // for each key head its query, key, values and their gates (GGUF's attn_gate)
};

// The layers that have a tensor: all, or those with a dense FFN, with experts, with a recurrent
// state, or with attention.
enum class HfLayers : uint8_t { kAll, kDense, kSparse, kRecurrent, kAttending };

// A row of the table of tensors: one tensor, or one in every layer or for every expert. A row
// without a shape adds no tensor to those that are listed from config.json (formats/hf_shape.h).
struct HfTensor {
  HfScope scope;
  HfKind kind;
  std::string_view from, to;
  HfValue rows = HfValue::kNone;
  HfValue columns = HfValue::kNone;  // kNone: it is a vector
  bool linear = false;               // it is FP8 in FP8 models
  HfValue bias = HfValue::kNone;     // the flag by which it has a bias
  HfValue when = HfValue::kOne;      // the flag by which it exists
  HfLayers layers = HfLayers::kAll;
};

// A list of at most a few items, held inline.
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

// Tensors that this program does not use.
struct HfLeftOut {
  // Names behind the model's prefix, or beginnings of names, which end in a dot.
  HfTexts names;
  const char* note = "";  // behind "{} tensors "
};

// RoPE's settings, which rope_scaling or rope_parameters and rope_theta of config.json state.
struct HfRope {
  double base = 1e4;           // the base if the file states none
  bool part_said = false;      // partial_rotary_factor is read; else it must be 1
  double part = 1;             // the rotated share of a head if the file states none
  bool scaled_scores = false;  // a separate key says that scores grow with the scaling
  // The share of a head's pairs that rotate, at the whole head's frequencies, if the file has no
  // settings of RoPE. 0: all rotate.
  double proportional = 0;
  // The key of the RoPE base of layers with a window, and their base if config.json states none.
  // These layers then have that base and no scaling. A null key: all layers are alike.
  const char* windowed_key = nullptr;
  double windowed_base = 0;
};

// The layers that see a window of sliding_window positions.
struct HfWindows {
  enum class Kind : uint8_t {
    kNone,
    kAll,   // all layers, or none
    kSome,  // some may and others not: attention.sliding_window_pattern has a bool for each
    kOwn,   // the family's own reader knows the kinds of layers
  };
  Kind kind = Kind::kNone;
  uint32_t length = 0;        // the window if the file states none; 0: there is none then
  const char* use = nullptr;  // the flag that turns windows on, or null
  // Keys that place the windows in files that do not name layers' kinds, and the values of missing
  // keys. kAll reads the first layer with a window. kSome reads the period, whose last layer has no
  // window.
  const char* first_key = nullptr;
  uint32_t first = 0;
  const char* period_key = nullptr;
  uint32_t period = 0;
  bool last_full = false;  // kSome: the last layer has no window, whatever its kind
};

struct HfFamily {
  // The family's names in `architectures` of config.json. A name that ends in ForCausalLM covers
  // the one that ends in Model, too, which a base model without a head has.
  HfTexts names;
  const char* gguf;  // the architecture's name in GGUF
  bool encoder = false;
  HfSets<HfKey> keys = {};
  HfRope rope = {};  // encoders use neither this nor `windows`
  HfWindows windows = {};
  HfSets<HfKey> more_keys = {};  // read after RoPE and windows
  // Reads the keys `reads`, after all rows, in ways that no row describes.
  void (*read)(const HfReading& reading) = nullptr;
  HfTexts reads = {};
  // The beginnings of tensors' names, the longest first; a name without any of them is also read.
  // Names that are made from config.json without files get the first one.
  HfTexts prefixes = {"model."};
  // The beginnings of layers' names behind the prefix.
  HfTexts layer_prefixes = {"layers."};
  HfSets<HfTensor> tensors = {};
  HfList<HfLeftOut> left_out = {};
  // The rows of each head of queries and keys are stored as two halves, which GGUF interleaves.
  bool halves = false;
  // Norms, except those of a delta rule, scale by one plus the stored weight; GGUF stores the sum
  // as F32.
  bool norms_plus_one = false;
  // GGUF has one value head of every key head in turn; folders have the value heads of a key head
  // beside each other.
  bool deals_heads = false;
  // If config.json has text_config, that object holds the keys of the text model.
  bool text_config = false;
};

// The families, in the order in which messages name them.
using HfFamilies = std::span<const HfFamily* const>;

}  // namespace hearth
