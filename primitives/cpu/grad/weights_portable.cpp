// For registers of 4 floats, without features of a particular processor family.
#include "primitives/cpu/fft_tiled/registers_portable.hpp"
#include "primitives/cpu/grad/weights_products.hpp"

namespace znni::cpu::fft_tiled {
namespace {

struct Four : PlainVectors<4> {};
struct Portable : PortableRegisters<Four> {};

}  // namespace

extern const WeightsKernels weights_portable;
constinit const WeightsKernels weights_portable = make_weights_kernels<Portable>();

}  // namespace znni::cpu::fft_tiled
