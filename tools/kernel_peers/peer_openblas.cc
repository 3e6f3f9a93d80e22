// OpenBLAS (https://www.openblas.net), used by its C interface with 32-bit sizes. The product is
// cblas_sgemm, and for one row cblas_sgemv, as a user of BLAS would choose.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "loaded_library.h"
#include "memory/arena.h"
#include "peer.h"

namespace hearth {
namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;  // CBLAS's numbers

struct BlasFunctions {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  void (*sgemv)(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                const float* x, int step_x, float beta, float* y, int step_y);
  void (*set_threads)(int threads);
  int (*threads)();
  char* (*core_name)();
};

class BlasProduct : public PeerProduct {
 public:
  BlasProduct(const BlasFunctions& blas, const PeerProblem& problem)
      : blas_(blas),
        rows_(static_cast<int>(problem.rows)),
        k_(static_cast<int>(problem.k)),
        m_(static_cast<int>(problem.m)),
        arena_(problem.machine, problem.node,
               problem.weights.size_bytes() * problem.copies + problem.x.size_bytes() + out_bytes(),
               "copies for OpenBLAS"),
        weights_(floats(problem.weights.size_bytes() * problem.copies)),
        x_(floats(problem.x.size_bytes())),
        out_(floats(out_bytes())),
        implementation_(fmt::format("{} {}", m_ == 1 ? "sgemv" : "sgemm", blas.core_name())) {
    for (uint32_t i = 0; i < problem.copies; ++i) {
      std::copy(problem.weights.begin(), problem.weights.end(),
                weights_ + i * problem.weights.size());
    }
    std::copy(problem.x.begin(), problem.x.end(), x_);
  }

  void run(uint32_t copy) override {
    const float* weights = weights_ + size_t{copy} * rows_ * k_;
    if (m_ == 1) {
      blas_.sgemv(kRowMajor, kPlain, rows_, k_, 1, weights, k_, x_, 1, 0, out_, 1);
    } else {
      blas_.sgemm(kRowMajor, kPlain, kTransposed, m_, rows_, k_, 1, x_, k_, weights, k_, 0, out_,
                  rows_);
    }
  }
  std::span<const float> out() const override { return {out_, out_bytes() / sizeof(float)}; }
  const std::string& implementation() const override { return implementation_; }

 private:
  float* floats(size_t bytes) { return reinterpret_cast<float*>(arena_.allocate(bytes)); }
  size_t out_bytes() const { return sizeof(float) * static_cast<size_t>(m_) * rows_; }

  const BlasFunctions& blas_;
  int rows_, k_, m_;
  Arena arena_;
  float *weights_, *x_, *out_;
  std::string implementation_;
};

class OpenBlas : public Peer {
 public:
  explicit OpenBlas(const BlasFunctions& blas) : blas_(blas) {}

  const char* name() const override { return "OpenBLAS"; }
  bool takes(PackKind kind) const override { return kind == PackKind::kF32; }
  // A build without threads, or for few CPUs, silently takes fewer threads than it is given.
  void set_threads(uint32_t threads) override {
    blas_.set_threads(static_cast<int>(threads));
    if (int taken = blas_.threads(); taken != static_cast<int>(threads)) {
      fail(ErrorCode::kUnsupported,
           "OpenBLAS takes {} threads where {} are measured: lower -t, or install "
           "libopenblas0-pthread",
           taken, threads);
    }
  }
  std::unique_ptr<PeerProduct> product(const PeerProblem& problem) override {
    return std::make_unique<BlasProduct>(blas_, problem);
  }

 private:
  BlasFunctions blas_;
};

}  // namespace

std::unique_ptr<Peer> load_openblas(std::string* why) {
  LoadedLibrary library("libopenblas.so.0");
  BlasFunctions blas{};
  library.find("cblas_sgemm", &blas.sgemm);
  library.find("cblas_sgemv", &blas.sgemv);
  library.find("openblas_set_num_threads", &blas.set_threads);
  library.find("openblas_get_num_threads", &blas.threads);
  library.find("openblas_get_corename", &blas.core_name);
  if (library.error().empty()) return std::make_unique<OpenBlas>(blas);
  *why = fmt::format(
      "OpenBLAS is not measured ({}): install libopenblas0-pthread, or run "
      "scripts/install-deps.sh --peers",
      library.error());
  return nullptr;
}

}  // namespace hearth
