// oneDNN 2 (https://oneapi-src.github.io/oneDNN/v2.6), used by its C interface. The product is the
// matmul primitive with weights in the layout that it asks for, reordered beforehand. Its headers
// are not needed: descriptors are plain structs of fixed size that the library fills. Here they are
// kept in larger blocks of bytes, and the numbers below are those of that interface. Threads are
// OpenMP's.
#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fp_types.h"
#include "loaded_library.h"
#include "memory/arena.h"
#include "peer.h"

namespace hearth {
namespace {

// Holds a descriptor of the library. They have 696 and 2800 bytes in version 2.6.
struct alignas(64) Descriptor {
  std::byte bytes[8192] = {};
};
struct Argument {
  int which;
  void* memory;
};
constexpr int kAnyLayout = 1, kRowMajor = 3, kColumnMajor = 22;
constexpr int kBF16 = 2, kF32 = 3;
constexpr int kCpu = 1, kInOrder = 1;
constexpr int kAskImplementation = 8, kAskWeights = 131;
constexpr int kSource = 1, kOut = 17, kWeights = 33;
constexpr int kUnimplemented = 3;

// A pointer to an object of the library, which is opaque.
using Handle = void*;

struct DnnFunctions {
  int (*engine_create)(Handle* engine, int kind, size_t index);
  int (*engine_destroy)(Handle engine);
  int (*stream_create)(Handle* stream, Handle engine, unsigned flags);
  int (*stream_destroy)(Handle stream);
  int (*stream_wait)(Handle stream);
  int (*memory_desc_init)(Descriptor* desc, int ndims, const int64_t* dims, int type, int layout);
  size_t (*memory_desc_size)(const void* desc);
  int (*matmul_desc_init)(Descriptor* desc, const void* source, const void* weights,
                          const void* bias, const void* out);
  int (*primitive_desc_create)(Handle* result, const void* op_desc, Handle attributes,
                               Handle engine, Handle hint);
  int (*reorder_desc_create)(Handle* result, const void* from, Handle from_engine, const void* to,
                             Handle to_engine, Handle attributes);
  const void* (*ask_memory_desc)(Handle primitive_desc, int what, int index);
  int (*ask)(Handle primitive_desc, int what, int index, void* result);
  int (*primitive_desc_destroy)(Handle primitive_desc);
  int (*primitive_create)(Handle* primitive, Handle primitive_desc);
  int (*primitive_execute)(Handle primitive, Handle stream, int count, const Argument* arguments);
  int (*primitive_destroy)(Handle primitive);
  int (*memory_create)(Handle* memory, const void* desc, Handle engine, void* data);
  int (*memory_destroy)(Handle memory);
  void (*set_threads)(int threads);
};

void check(int status, const char* what) {
  if (status != 0) {
    fail(ErrorCode::kUnsupported,
         "oneDNN fails to {} (status {}): take another version of libdnnl2, or none", what, status);
  }
}

struct DnnContext {
  DnnFunctions call;
  Handle engine = nullptr, stream = nullptr;
};

// Owns an object and destroys it at the end of its scope; `Destroy` is a member of DnnFunctions.
template <auto Destroy>
class Owned {
 public:
  explicit Owned(const DnnContext& dnn) : dnn_(&dnn) {}
  Owned(Owned&& other) noexcept
      : dnn_(other.dnn_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (handle_ != nullptr) (dnn_->call.*Destroy)(handle_);
  }
  Handle* slot() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  const DnnContext* dnn_;
  Handle handle_ = nullptr;
};
using OwnedDesc = Owned<&DnnFunctions::primitive_desc_destroy>;
using OwnedPrimitive = Owned<&DnnFunctions::primitive_destroy>;
using OwnedMemory = Owned<&DnnFunctions::memory_destroy>;

Descriptor matrix_desc(const DnnContext& dnn, uint32_t rows, uint32_t columns, int type,
                       int layout) {
  int64_t dims[] = {rows, columns};
  Descriptor desc;
  check(dnn.call.memory_desc_init(&desc, 2, dims, type, layout), "describe a matrix");
  return desc;
}

OwnedMemory memory_over(const DnnContext& dnn, const void* desc, const void* data) {
  OwnedMemory memory(dnn);
  check(dnn.call.memory_create(memory.slot(), desc, dnn.engine, const_cast<void*>(data)),
        "use memory");
  return memory;
}

int type_of(PackKind kind) { return kind == PackKind::kBF16 ? kBF16 : kF32; }
size_t x_element(PackKind kind) { return kind == PackKind::kBF16 ? sizeof(bf16_t) : sizeof(float); }

void execute(const DnnContext& dnn, Handle primitive, std::span<const Argument> arguments) {
  check(dnn.call.primitive_execute(primitive, dnn.stream, static_cast<int>(arguments.size()),
                                   arguments.data()),
        "run");
  check(dnn.call.stream_wait(dnn.stream), "finish");
}

class DnnProduct : public PeerProduct {
 public:
  // `matmul` is the descriptor of this problem's product.
  DnnProduct(const DnnContext& dnn, const PeerProblem& problem, OwnedDesc matmul)
      : dnn_(dnn),
        matmul_(std::move(matmul)),
        primitive_(dnn),
        wanted_(dnn.call.ask_memory_desc(matmul_.get(), kAskWeights, 0)),
        copy_bytes_(whole_lines(dnn.call.memory_desc_size(wanted_))),
        x_bytes_(whole_lines(x_element(problem.kind) * problem.x.size())),
        outs_(size_t{problem.m} * problem.rows),
        arena_(problem.machine, problem.node,
               copy_bytes_ * problem.copies + x_bytes_ + whole_lines(sizeof(float) * outs_),
               "copies for oneDNN"),
        copies_(arena_.allocate(copy_bytes_ * problem.copies)),
        x_(arena_.allocate(x_bytes_)),
        out_(reinterpret_cast<float*>(arena_.allocate(whole_lines(sizeof(float) * outs_)))) {
    const char* told = nullptr;
    check(dnn.call.ask(matmul_.get(), kAskImplementation, 0, &told), "name its implementation");
    implementation_ = told;
    check(dnn.call.primitive_create(primitive_.slot(), matmul_.get()), "make a matmul");
    place_weights(problem);
    fill_x(problem);
    Descriptor x = matrix_desc(dnn, problem.m, problem.k, type_of(problem.kind), kRowMajor);
    Descriptor out = matrix_desc(dnn, problem.m, problem.rows, kF32, kRowMajor);
    ends_.push_back(memory_over(dnn, &x, x_));
    ends_.push_back(memory_over(dnn, &out, out_));
  }

  void run(uint32_t copy) override {
    Argument arguments[] = {
        {kSource, ends_[0].get()}, {kWeights, weights_[copy].get()}, {kOut, ends_[1].get()}};
    execute(dnn_, primitive_.get(), arguments);
  }
  std::span<const float> out() const override { return {out_, outs_}; }
  const std::string& implementation() const override { return implementation_; }

 private:
  static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

  // Reorders the first copy from rows of f32, and makes the other copies from it.
  void place_weights(const PeerProblem& problem) {
    Descriptor given = matrix_desc(dnn_, problem.k, problem.rows, kF32, kColumnMajor);
    for (uint32_t i = 0; i < problem.copies; ++i) {
      weights_.push_back(memory_over(dnn_, wanted_, copies_ + i * copy_bytes_));
    }
    OwnedDesc desc(dnn_);
    check(dnn_.call.reorder_desc_create(desc.slot(), &given, dnn_.engine, wanted_, dnn_.engine,
                                        nullptr),
          "reorder weights");
    OwnedPrimitive reorder(dnn_);
    check(dnn_.call.primitive_create(reorder.slot(), desc.get()), "reorder weights");
    OwnedMemory from = memory_over(dnn_, &given, problem.weights.data());
    Argument arguments[] = {{kSource, from.get()}, {kOut, weights_[0].get()}};
    execute(dnn_, reorder.get(), arguments);
    for (uint32_t i = 1; i < problem.copies; ++i) {
      std::memcpy(copies_ + i * copy_bytes_, copies_, copy_bytes_);
    }
  }

  void fill_x(const PeerProblem& problem) {
    if (problem.kind == PackKind::kF32) {
      std::memcpy(x_, problem.x.data(), problem.x.size_bytes());
    } else {
      auto* to = reinterpret_cast<bf16_t*>(x_);
      for (size_t i = 0; i < problem.x.size(); ++i) to[i] = f32_to_bf16(problem.x[i]);
    }
  }

  const DnnContext& dnn_;
  OwnedDesc matmul_;
  OwnedPrimitive primitive_;
  const void* wanted_;  // layout of the weights; owned by matmul_
  size_t copy_bytes_, x_bytes_, outs_;
  Arena arena_;
  std::byte *copies_, *x_;
  float* out_;
  std::vector<OwnedMemory> weights_, ends_;  // ends_: x, out
  std::string implementation_;
};

class OneDnn : public Peer {
 public:
  explicit OneDnn(const DnnFunctions& functions) : dnn_{functions} {
    check(dnn_.call.engine_create(&dnn_.engine, kCpu, 0), "make an engine");
    check(dnn_.call.stream_create(&dnn_.stream, dnn_.engine, kInOrder), "make a stream");
  }

  ~OneDnn() override {
    dnn_.call.stream_destroy(dnn_.stream);
    dnn_.call.engine_destroy(dnn_.engine);
  }
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;

  const char* name() const override { return "oneDNN"; }
  bool takes(PackKind kind) const override {
    return kind == PackKind::kF32 || kind == PackKind::kBF16;
  }
  void set_threads(uint32_t threads) override { dnn_.call.set_threads(static_cast<int>(threads)); }

  std::unique_ptr<PeerProduct> product(const PeerProblem& problem) override {
    int type = type_of(problem.kind);
    Descriptor x = matrix_desc(dnn_, problem.m, problem.k, type, kRowMajor);
    Descriptor weights = matrix_desc(dnn_, problem.k, problem.rows, type, kAnyLayout);
    Descriptor out = matrix_desc(dnn_, problem.m, problem.rows, kF32, kRowMajor);
    Descriptor matmul;
    check(dnn_.call.matmul_desc_init(&matmul, &x, &weights, nullptr, &out), "describe a matmul");
    OwnedDesc desc(dnn_);
    int status =
        dnn_.call.primitive_desc_create(desc.slot(), &matmul, nullptr, dnn_.engine, nullptr);
    if (status == kUnimplemented) return nullptr;
    check(status, "make a matmul");
    return std::make_unique<DnnProduct>(dnn_, problem, std::move(desc));
  }

 private:
  DnnContext dnn_;
};

}  // namespace

std::unique_ptr<Peer> load_onednn(std::string* why) {
  LoadedLibrary library("libdnnl.so.2");
  DnnFunctions call{};
  library.find("dnnl_engine_create", &call.engine_create);
  library.find("dnnl_engine_destroy", &call.engine_destroy);
  library.find("dnnl_stream_create", &call.stream_create);
  library.find("dnnl_stream_destroy", &call.stream_destroy);
  library.find("dnnl_stream_wait", &call.stream_wait);
  library.find("dnnl_memory_desc_init_by_tag", &call.memory_desc_init);
  library.find("dnnl_memory_desc_get_size", &call.memory_desc_size);
  library.find("dnnl_matmul_desc_init", &call.matmul_desc_init);
  library.find("dnnl_primitive_desc_create", &call.primitive_desc_create);
  library.find("dnnl_reorder_primitive_desc_create", &call.reorder_desc_create);
  library.find("dnnl_primitive_desc_query_md", &call.ask_memory_desc);
  library.find("dnnl_primitive_desc_query", &call.ask);
  library.find("dnnl_primitive_desc_destroy", &call.primitive_desc_destroy);
  library.find("dnnl_primitive_create", &call.primitive_create);
  library.find("dnnl_primitive_execute", &call.primitive_execute);
  library.find("dnnl_primitive_destroy", &call.primitive_destroy);
  library.find("dnnl_memory_create", &call.memory_create);
  library.find("dnnl_memory_destroy", &call.memory_destroy);
  library.find("omp_set_num_threads", &call.set_threads);
  if (library.error().empty()) return std::make_unique<OneDnn>(call);
  *why = fmt::format(
      "oneDNN is not measured ({}): install libdnnl2, version 2 with OpenMP, or run "
      "scripts/install-deps.sh --peers",
      library.error());
  return nullptr;
}

}  // namespace hearth
