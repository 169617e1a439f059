// Compiled for AVX-512; runs if the processor has it.
#include "primitives/cpu/pool/make_stack_kernels.hpp"
#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu {
namespace {

struct Lanes16 : PlainVectors<16> {};

}  // namespace

extern const StackKernels stack_kernels_avx512;
constinit const StackKernels stack_kernels_avx512 = make_stack_kernels<Lanes16>();

}  // namespace znni::cpu
