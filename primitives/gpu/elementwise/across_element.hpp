// What is made of all channels of one voxel (AcrossChannelsProblem), a voxel per thread, in float; a norm's sums in
// double. Each channel is read as often as there are passes: three times by a softmax and by a norm, once by an arg
// max.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

// In the order of AcrossKind.
enum class Across : int { softmax, log_softmax, arg_max, arg_max_last, norm };

struct AcrossArg {
  Index S = 1;
  Index channels = 1;  // of the input
  Extent n;
  Steps in;
  Steps out;
  Across kind = Across::softmax;
  float epsilon = 0.0F;  // of a norm
};

// Computes a softmax, or its logarithm. A NaN among the channels reaches the sum, and by it all of them.
template <class Math, class T>
constexpr void softmax_voxel(const AcrossArg& arg, const T* from, T* to) {
  float most = widen(from[0]);
  for (Index j = 1; j < arg.channels; ++j) {
    const float value = widen(from[j * arg.in.f]);
    most = value > most ? value : most;
  }
  float sum = 0.0F;
  for (Index j = 0; j < arg.channels; ++j) sum += Math::exp(widen(from[j * arg.in.f]) - most);
  const bool logarithm = arg.kind == Across::log_softmax;
  const float log_of_sum = logarithm ? Math::log1p(sum - 1.0F) : 0.0F;  // the largest channel adds 1
  for (Index j = 0; j < arg.channels; ++j) {
    const float below = widen(from[j * arg.in.f]) - most;
    to[j * arg.out.f] = narrow(logarithm ? below - log_of_sum : Math::exp(below) / sum, T());
  }
}

// Finds the number of the largest channel. A NaN stays the largest, because no comparison with it is true: the number
// is NaN then.
template <class T>
constexpr void arg_max_voxel(const AcrossArg& arg, const T* from, T* to) {
  const bool last = arg.kind == Across::arg_max_last;
  float most = widen(from[0]);
  float number = 0.0F;
  for (Index j = 1; j < arg.channels; ++j) {
    const float value = widen(from[j * arg.in.f]);
    if (value > most || (last && value == most) || value != value) {
      most = value;
      number = static_cast<float>(j);
    }
  }
  to[0] = narrow(most != most ? most : number, T());
}

// Normalises the channels: a mean, then the variance of the differences from it, so that nothing cancels.
template <class Math, class T>
constexpr void channel_norm_voxel(const AcrossArg& arg, const T* from, T* to) {
  const auto at = [&](Index j) { return static_cast<double>(widen(from[j * arg.in.f])); };
  double mean = 0.0;
  for (Index j = 0; j < arg.channels; ++j) mean += at(j);
  mean /= static_cast<double>(arg.channels);
  double squares = 0.0;
  for (Index j = 0; j < arg.channels; ++j) squares += (at(j) - mean) * (at(j) - mean);
  const double variance = squares / static_cast<double>(arg.channels);
  const double inverse = 1.0 / Math::sqrt(variance + static_cast<double>(arg.epsilon));
  for (Index j = 0; j < arg.channels; ++j) {
    to[j * arg.out.f] = narrow(static_cast<float>((at(j) - mean) * inverse), T());
  }
}

// Computes voxel `index` of S * n. May write over its input.
template <class Math, class T>
constexpr void across_voxel(const AcrossArg& arg, Index index, const T* in, T* out) {
  const Index x = index % arg.n.x;
  const Index y = index / arg.n.x % arg.n.y;
  const Index z = index / (arg.n.x * arg.n.y) % arg.n.z;
  const Index s = index / voxels_of(arg.n);
  const T* const from = in + s * arg.in.S + z * arg.in.z + y * arg.in.y + x * arg.in.x;
  T* const to = out + s * arg.out.S + z * arg.out.z + y * arg.out.y + x * arg.out.x;
  switch (arg.kind) {
    case Across::softmax:
    case Across::log_softmax: return softmax_voxel<Math>(arg, from, to);
    case Across::arg_max:
    case Across::arg_max_last: return arg_max_voxel(arg, from, to);
    case Across::norm: return channel_norm_voxel<Math>(arg, from, to);
  }
}

}  // namespace znni::cuda
