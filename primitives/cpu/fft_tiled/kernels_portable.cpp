// For registers of 4 floats, without features of a particular processor family.
#include "primitives/cpu/fft_tiled/make_kernels.hpp"
#include "primitives/cpu/fft_tiled/registers_portable.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Four : PlainVectors<4> {};
struct Portable : PortableRegisters<Four> {};

}  // namespace

extern const TileKernels kernels_portable;
constinit const TileKernels kernels_portable = make_kernels<Portable>();

}  // namespace znni::cpu::fft_tiled
