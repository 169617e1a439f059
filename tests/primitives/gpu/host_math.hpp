// The C library's functions for primitives/gpu/activate.hpp: what kernels compute, on the host.
#pragma once

#include <cmath>

namespace znni::cuda {

struct HostMath {
  static float exp(float x) { return std::exp(x); }
  static float expm1(float x) { return std::expm1(x); }
  static float tanh(float x) { return std::tanh(x); }
};

}  // namespace znni::cuda
