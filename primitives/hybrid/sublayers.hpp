// The sub-layers of one convolution: their order, and the place of a sub-layer in a tensor. Pure arithmetic in 64
// bits, for tensors of any size.
//
// All sub-layers have the same size. A sub-layer that would extend beyond the end begins earlier instead, and some
// outputs are computed twice, to the same bits. Sub-layers of one sum (over parts of f) follow each other. Without such
// sums, sub-layers of f_out follow each other and share one upload.
#pragma once

#include <algorithm>
#include <cstdint>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/problem.hpp"
#include "primitives/hybrid/division.hpp"

namespace znni::hybrid {

// Start of a sub-layer, and its tasks beside computing.
struct SubLayer {
  std::int64_t S = 0;
  std::int64_t f = 0;
  std::int64_t f_out = 0;
  std::int64_t z = 0;         // output plane, and also input plane
  bool uploads = false;       // its input differs from that of the sub-layer before
  bool opens_sum = false;     // it is the first part of its sum
  bool closes_sum = false;    // it is the last part of its sum and writes output
  std::int64_t sum_step = 0;  // number within the sum
};

struct SubLayers {
  ConvProblem whole;
  Division sublayer;  // no field is 0
  Shape5 in;          // of a sub-layer
  Shape5 out;
  std::int64_t inputs = 1;  // parts of S
  std::int64_t slabs = 1;
  std::int64_t outputs = 1;  // parts of f_out
  std::int64_t terms = 1;    // parts of f: sub-layers of a sum

  [[nodiscard]] std::int64_t sums() const { return mul(mul(inputs, slabs), outputs); }
  [[nodiscard]] std::int64_t count() const { return mul(sums(), terms); }
  [[nodiscard]] std::int64_t uploads() const { return terms > 1 ? count() : mul(inputs, slabs); }
  [[nodiscard]] SubLayer at(std::int64_t index) const;
  // Returns the problem of the sub-layer with number `sum_step` in its sum. The first one adds the layer's residual, if
  // any; later ones add the sum so far, in the residual's place. Bias and activation come with the last one.
  [[nodiscard]] ConvProblem problem(std::int64_t sum_step) const;
};

// Divides a convolution. The error names the sub-layer that does not fit. At most 2^20 sub-layers.
[[nodiscard]] Result<SubLayers> divide(const ConvProblem& conv, const Division& division);

// A box of a tensor, with its full y and x.
struct Box {
  std::int64_t S = 0;
  std::int64_t f = 0;
  std::int64_t z = 0;
  Shape5 shape;
};

// Calls visit(offset in elements, rows) for pieces of `box`, in the order of a dense tensor of box.shape.
// rows.from_step is their distance in `view`, to_step in the dense tensor. Works for planar views, and for channels
// last if the box has all channels.
template <class Visit>
void visit_pieces(const TensorView& view, const Box& box, const Visit& visit) {
  const std::int64_t bytes = element_bytes(view.format.type);
  const Strides& step = view.strides;
  const Shape5& shape = box.shape;
  const bool channels_inside = view.format.layout == Layout::channels_last;
  const std::int64_t channels = channels_inside ? 1 : shape.f;
  const std::int64_t row = shape.n.x * (channels_inside ? shape.f : 1);
  const bool rows_meet = step.y == row;
  const bool planes_meet = rows_meet && step.z == row * shape.n.y;
  const std::int64_t piece = row * shape.n.y * shape.n.z;
  if (planes_meet && (channels == 1 || step.f == piece)) {
    const std::int64_t input = piece * channels * bytes;
    const std::int64_t start = box.S * step.S + (channels_inside ? 0 : box.f * step.f) + box.z * step.z;
    return visit(start, CopyRows{input, shape.S, input, step.S * bytes});
  }
  for (std::int64_t s = 0; s < shape.S; ++s) {
    const std::int64_t start = (box.S + s) * step.S + (channels_inside ? 0 : box.f * step.f) + box.z * step.z;
    if (planes_meet) {
      visit(start, CopyRows{piece * bytes, channels, piece * bytes, step.f * bytes});
      continue;
    }
    for (std::int64_t plane = 0; plane < channels * shape.n.z; ++plane) {
      const std::int64_t at = start + plane / shape.n.z * step.f + plane % shape.n.z * step.z;
      visit(at, CopyRows{row * bytes, shape.n.y, row * bytes, step.y * bytes});
    }
  }
}

}  // namespace znni::hybrid
