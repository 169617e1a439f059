// Products and quotients of two tensors, element by element: out = in * other or in / other. An `other` of one channel
// is that of every channel.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

struct MultiplyArg {
  RowShape rows;
  bool planar = true;
  int width = 1;  // elements per vector
  bool divides = false;
  bool one_channel = false;  // channels last: all elements of a voxel share one of `other`, whose steps count elements
  RowSteps in_steps;
  RowSteps other_steps;
  RowSteps out_steps;
  const void* in = nullptr;  // may be `out` itself
  const void* other = nullptr;
  void* out = nullptr;
};

// Returns the vector of `other` at element `at`, or `width` copies of that element.
template <class T, int width>
constexpr Lanes<T, width> factor_at(const MultiplyArg& arg, Index at) {
  if (!arg.one_channel) return static_cast<const Lanes<T, width>*>(arg.other)[at];
  Lanes<T, width> factor = {};
  for (int w = 0; w < width; ++w) factor.lane[w] = static_cast<const T*>(arg.other)[at];
  return factor;
}

// Computes element `element` of row `row`.
template <class T, int width>
constexpr void multiply_element(const MultiplyArg& arg, const Row& row, int element) {
  const int slow = element / arg.rows.fast;
  const int fast = element % arg.rows.fast;
  const auto at = [&](const RowSteps& steps) { return offset_of(steps, row) + element_offset(steps, slow, fast); };
  Lanes<T, width> made = static_cast<const Lanes<T, width>*>(arg.in)[at(arg.in_steps)];
  const Lanes<T, width> factor = factor_at<T, width>(arg, at(arg.other_steps));
  for (int w = 0; w < width; ++w) {
    const float value = widen(made.lane[w]);
    const float other = widen(factor.lane[w]);
    made.lane[w] = narrow(arg.divides ? value / other : value * other, T());
  }
  static_cast<Lanes<T, width>*>(arg.out)[at(arg.out_steps)] = made;
}

}  // namespace znni::cuda
