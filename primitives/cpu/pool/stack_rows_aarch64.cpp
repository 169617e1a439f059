#include "primitives/cpu/pool/stack_rows.hpp"

namespace znni::cpu {

extern const StackKernels stack_kernels_simd8;

const StackKernels& stack_kernels(int) { return stack_kernels_simd8; }

}  // namespace znni::cpu
