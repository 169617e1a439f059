// The C library's functions for primitives/gpu/activate.hpp: what kernels compute, on the host.
#pragma once

#include <cmath>

#include "primitives/gpu/activate.hpp"

namespace znni::cuda {

struct HostMath {
  static float exp(float x) { return std::exp(x); }
  static float expm1(float x) { return std::expm1(x); }
  static float tanh(float x) { return std::tanh(x); }
  static float log1p(float x) { return std::log1p(x); }
  static float erfc(float x) { return std::erfc(x); }
  static double sqrt(double x) { return std::sqrt(x); }
  static float activate_apart(Act act, float x) { return cuda::activate_apart<HostMath>(act, x); }
};

}  // namespace znni::cuda
