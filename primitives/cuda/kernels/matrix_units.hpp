// What only a GPU's compiler reads: instructions of matrix units, and shared memory whose size a launch gives. Included
// by .cu files alone. tests/cuda_emulation has a file of its own in this one's place.
#pragma once

#include <cuda_runtime.h>

#include <nv/target>

#include "primitives/gpu/complex_mma.hpp"

namespace znni::cuda {

// Returns the block's memory, as large as its launch says.
__device__ inline void* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

// Adds a b to d, fragments of matrices that the warp's lanes hold together; all of them call it. The units that it
// needs are there from compute capability 8.0 on.
__device__ inline void mma_m16n8k8(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
  NV_IF_ELSE_TARGET(
      NV_PROVIDES_SM_80,
      (asm volatile(
           "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
           : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
           : "r"(bits_of(a[0])), "r"(bits_of(a[1])), "r"(bits_of(a[2])), "r"(bits_of(a[3])), "r"(bits_of(b[0])),
             "r"(bits_of(b[1])));),
      (__trap();))
}

// Returns left conj(right) of eight numbers, likewise.
__device__ inline ProductFragment multiply(const LeftFragment& left, const RightFragment& right) {
  ProductFragment product = {};
#pragma unroll
  for (int i = 0; i < complex_terms; ++i) {
    const Term term = complex_term(i);
    mma_m16n8k8(product.part[term.sum], left.part[term.left], right.part[term.right]);
  }
  return product;
}

}  // namespace znni::cuda
