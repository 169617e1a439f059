#include "primitives/cpu/pool/stack_rows.hpp"

namespace znni::cpu {

extern const StackKernels stack_kernels_avx512;
extern const StackKernels stack_kernels_simd8;

const StackKernels& stack_kernels(int simd_floats) {
  return simd_floats == 16 ? stack_kernels_avx512 : stack_kernels_simd8;
}

}  // namespace znni::cpu
