// Layers that pass over their tensors once, element by element: out = activation(scale[j] in0 + shift[j] + in1 + in2 +
// ...), for channel j. A sum below 0 is multiplied by slope[j] first.
// Activations, sums, scales and shifts, what ends a convolution (bias and residual), and plain copies between views.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

inline constexpr int max_inputs = 8;

// Device memory, one float per channel.
struct PerChannel {
  const float* scale = nullptr;   // null: ones
  const float* shift = nullptr;   // null: zeros
  const float* slopes = nullptr;  // null: ones
};

struct ElementwiseArg {
  RowShape rows;
  bool planar = true;
  int width = 1;  // elements per vector
  int inputs = 1;
  RowSteps in_steps[max_inputs];
  RowSteps out_steps;
  const void* in[max_inputs] = {};  // may be `out` itself
  void* out = nullptr;
  PerChannel of;
  Act act = Act::none;
  float alpha = 0.0F;
};

// Computes element `element` of row `row`.
template <class Math, class T, int width>
constexpr void elementwise_element(const ElementwiseArg& arg, const Row& row, int element) {
  const int slow = element / arg.rows.fast;
  const int fast = element % arg.rows.fast;
  const Index first_channel = arg.planar ? row.channel : static_cast<Index>(fast) * width;
  float sums[width] = {};
  for (int input = 0; input < arg.inputs; ++input) {
    const RowSteps& steps = arg.in_steps[input];
    const auto* from = static_cast<const Lanes<T, width>*>(arg.in[input]);
    const Lanes<T, width> value = from[offset_of(steps, row) + element_offset(steps, slow, fast)];
    for (int w = 0; w < width; ++w) {
      const Index channel = arg.planar ? first_channel : first_channel + w;
      const float factor = input == 0 && arg.of.scale != nullptr ? arg.of.scale[channel] : 1.0F;
      const float shift = input == 0 && arg.of.shift != nullptr ? arg.of.shift[channel] : 0.0F;
      sums[w] += factor * widen(value.lane[w]) + shift;
    }
  }
  Lanes<T, width> result = {};
  if (arg.of.slopes != nullptr) {
    for (int w = 0; w < width; ++w) {
      const float slope = arg.of.slopes[arg.planar ? first_channel : first_channel + w];
      sums[w] = sums[w] < 0.0F ? slope * sums[w] : sums[w];
    }
  }
  for (int w = 0; w < width; ++w) result.lane[w] = narrow(activate<Math>(arg.act, arg.alpha, sums[w]), T());
  static_cast<Lanes<T, width>*>(arg.out)[offset_of(arg.out_steps, row) + element_offset(arg.out_steps, slow, fast)] =
      result;
}

}  // namespace znni::cuda
