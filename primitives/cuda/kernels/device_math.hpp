// Functions of the CUDA runtime for activate(): included by .cu files alone.
#pragma once

namespace znni::cuda {

struct DeviceMath {
  static __host__ __device__ float exp(float x) { return expf(x); }
  static __host__ __device__ float expm1(float x) { return expm1f(x); }
  static __host__ __device__ float tanh(float x) { return tanhf(x); }
};

}  // namespace znni::cuda
