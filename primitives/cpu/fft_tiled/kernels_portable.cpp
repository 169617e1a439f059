// For registers of 4 floats, without features of a particular processor family. A block of 8 channels lies in two
// registers. 6 x 2 accumulators, 2 weights and one value of a tile take 29 of the 32 registers of an Arm processor.
#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/vectors/split_vectors.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Four : PlainVectors<4> {};
struct Portable : SplitVectors<Four> {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace

extern const TileKernels kernels_portable;
constinit const TileKernels kernels_portable = make_kernels<Portable>();

}  // namespace znni::cpu::fft_tiled
