// Functions of the CUDA runtime for activate(): included by .cu files alone.
#pragma once

#include "primitives/gpu/activate.hpp"

namespace znni::cuda {

struct DeviceMath {
  static __host__ __device__ float exp(float x) { return expf(x); }
  static __host__ __device__ float expm1(float x) { return expm1f(x); }
  static __host__ __device__ float tanh(float x) { return tanhf(x); }
  static __host__ __device__ float log1p(float x) { return log1pf(x); }
  static __host__ __device__ float erfc(float x) { return erfcf(x); }
  static __host__ __device__ double sqrt(double x) { return ::sqrt(x); }
  static __host__ __device__ __noinline__ float activate_apart(Act act, float x) {
    return cuda::activate_apart<DeviceMath>(act, x);
  }
};

}  // namespace znni::cuda
