// Compiled for the least processor that the build is for.
#include "primitives/cpu/pool/make_stack_kernels.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

struct Lanes8 : Simd8 {};

}  // namespace

extern const StackKernels stack_kernels_simd8;
constinit const StackKernels stack_kernels_simd8 = make_stack_kernels<Lanes8>();

}  // namespace znni::cpu
