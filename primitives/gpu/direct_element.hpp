// Convolution with strides and groups, per thread: a voxel by one block of channels of the output, all of one group.
// Weights are [term][block][channel of the block], so that threads of a warp read the same ones or neighbours. Bias,
// residual and activation fused; tensors of one format.
#pragma once

#include "primitives/gpu/activate.hpp"
#include "primitives/gpu/element.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

struct DirectConv {
  Index f = 1;  // of a group, as f_out
  Index f_out = 1;
  Index group_blocks = 1;  // of a group
  Index blocks = 1;        // of all groups
  Extent k;
  Extent dilation;
  Extent stride;
  Steps in;
  Act act = Act::none;
  float alpha = 0.0F;
};

struct DirectArg {
  DirectConv conv;
  RowShape rows;  // of the output, blocks in the place of channels
  bool planar = true;
  Steps out;
  Steps residual;
};

// Device memory; weights and bias as direct_weights() and direct_bias() arrange them.
template <class T>
struct DirectData {
  const T* in;
  const T* residual;  // null: none
  const float* weights;
  const float* bias;
  T* out;
};

// Adds up the products of one voxel, whose window begins at `from`. `w`: the weights of the block at the first term.
template <class T, int channels>
constexpr void direct_sums(const DirectConv& conv, const T* from, const float* w, float (&sums)[channels]) {
  for (Index i = 0; i < conv.f; ++i) {
    for (Index z = 0; z < conv.k.z; ++z) {
      for (Index y = 0; y < conv.k.y; ++y) {
        const T* at = from + i * conv.in.f + z * conv.dilation.z * conv.in.z + y * conv.dilation.y * conv.in.y;
        for (Index x = 0; x < conv.k.x; ++x) {
          const float value = widen(at[x * conv.dilation.x * conv.in.x]);
          for (int c = 0; c < channels; ++c) sums[c] += value * w[c];
          w += conv.blocks * channels;
        }
      }
    }
  }
}

// Computes element `element` of row `row`.
template <class Math, class T, int channels>
constexpr void direct_element(const DirectArg& arg, const Row& row, int element, const DirectData<T>& data) {
  const DirectConv& conv = arg.conv;
  const Index x = arg.planar ? element : element / arg.rows.fast;
  const Index block = arg.planar ? row.channel : element % arg.rows.fast;
  const Index group = block / conv.group_blocks;
  const Index first = block % conv.group_blocks * channels;  // of the group's channels
  const Index channel = group * conv.f_out + first;
  float sums[channels] = {};
  direct_sums(conv,
              data.in + row.s * conv.in.S + group * conv.f * conv.in.f + row.z * conv.stride.z * conv.in.z +
                  row.y * conv.stride.y * conv.in.y + x * conv.stride.x * conv.in.x,
              data.weights + block * channels, sums);
  for (int c = 0; c < channels && first + c < conv.f_out; ++c) {
    const auto at = [&](const Steps& steps) {
      return row.s * steps.S + (channel + c) * steps.f + row.z * steps.z + row.y * steps.y + x * steps.x;
    };
    float sum = sums[c] + data.bias[block * channels + c];
    if (data.residual != nullptr) sum += widen(data.residual[at(arg.residual)]);
    data.out[at(arg.out)] = narrow(activate<Math>(conv.act, conv.alpha, sum), T());
  }
}

}  // namespace znni::cuda
