// For registers of 4 floats, without features of a particular processor family.
#include "primitives/cpu/grad/weights_products.hpp"
#include "primitives/cpu/vectors/split_vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Four : PlainVectors<4> {};
struct Portable : SplitVectors<Four> {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace

extern const WeightsKernels weights_portable;
constinit const WeightsKernels weights_portable = make_weights_kernels<Portable>();

}  // namespace znni::cpu::fft_tiled
