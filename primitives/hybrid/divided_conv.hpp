// A convolution with input and output in host memory, computed in sub-layers by a GPU primitive (ZNNi section VII.A).
// Three streams overlap: while one sub-layer is computed, the next is uploaded and the one before is downloaded, with
// two buffers of each kind. Partial sums over parts of the input channels stay on the GPU, and so do all kernels. (The
// paper uploads the kernels of a sub-layer along with it.)
#pragma once

#include <functional>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/hybrid/sublayers.hpp"

namespace znni::hybrid {

// The primitive that computes the sub-layers, and the way sub-layers are transferred.
struct DividedChoice {
  const Primitive* inner = nullptr;
  Variant variant;  // variant of the inner primitive
  Format in;        // formats that the inner primitive reads and writes
  Format out;
  Division division;
  // If true, tensors lie in plain host memory, and the accelerator's host threads copy sub-layers to and from pinned
  // buffers. Otherwise tensors lie in pinned memory, and sub-layers are copied directly.
  bool staged = true;
  // If set, tensors in host memory and transferred sub-layers are planar, and this primitive reorders sub-layers on the
  // GPU. If nullptr, all of them have the formats above.
  const Primitive* reorder = nullptr;

  [[nodiscard]] Format host_in() const { return reorder == nullptr ? in : Format{}; }
  [[nodiscard]] Format host_out() const { return reorder == nullptr ? out : Format{}; }
};

// Seconds to compute one sum over its parts of f, and to move one sub-layer.
struct SubLayerSeconds {
  Seconds compute = 0;
  Seconds upload = 0;    // input, for each upload
  Seconds residual = 0;  // residual, for each sum
  Seconds download = 0;
  Seconds stage_in = 0;   // by the host, for each upload
  Seconds stage_out = 0;  // by the host, for each sum, its residual included
  Seconds duplex = 0;     // all copies of the layer, at the rate that both directions share
};

// Times of all sub-layers together, and of the layer. The total is the longest of the four, each with the work that it
// cannot overlap; such as the first sub-layer's upload and the last sub-layer's download. (ZNNi adds up the times of
// the sub-layers; here the three streams overlap.)
struct DividedSeconds {
  Seconds compute = 0;
  Seconds upload = 0;
  Seconds download = 0;
  Seconds staging = 0;
  Seconds total = 0;
};
[[nodiscard]] DividedSeconds divided_seconds(const SubLayers& sublayers, const SubLayerSeconds& sublayer);

// Estimates of the first, the middle and the last sub-layer of a sum, if these differ.
struct InnerEstimates {
  std::vector<Estimate> of;         // estimates of the inner primitive
  std::vector<Estimate> reordered;  // the same with the reorders around them; empty if there are none

  [[nodiscard]] const std::vector<Estimate>& sublayers() const { return reordered.empty() ? of : reordered; }
  // Returns the index of the estimate for sub-layer `sum_step` of a sum.
  [[nodiscard]] std::size_t index(const SubLayers& sublayers, std::int64_t sum_step) const {
    if (sum_step == 0) return 0;
    return sum_step == sublayers.terms - 1 ? of.size() - 1 : 1;
  }
};
// Describes a sub-layer by the inner primitive. Callers may pass a version that keeps answers, because many choices
// have sub-layers in common.
using DescribeSubLayer = std::function<const Result<std::vector<Estimate>>&(const ConvProblem& sublayer)>;
[[nodiscard]] Result<InnerEstimates> inner_estimates(const SubLayers& sublayers, const DividedChoice& choice,
                                                     const DeviceSpec& spec, const DescribeSubLayer& describe = {});

// Returns time and memory over host, pinned and device. The variant is the inner primitive's. Fails with `unsupported`
// for formats that cannot be cut as requested, and for sums over parts of f that would each be rounded to bf16. If the
// inner primitive refuses a sub-layer, fails with its reason.
[[nodiscard]] Result<Estimate> describe_divided(const ConvProblem& conv, const DividedChoice& choice,
                                                const DeviceSpec& spec);
// Returns only the time. Callers that need no more of slow choices call this, and divided_estimate() for the others.
[[nodiscard]] Seconds divided_time(const SubLayers& sublayers, const InnerEstimates& inner, const DividedChoice& choice,
                                   const DeviceSpec& spec);
// Returns a lower bound of divided_time() of choices with planar tensors and staged sub-layers, whose sub-layers of
// each sum take at least `compute` seconds.
[[nodiscard]] Seconds min_divided_time(const SubLayers& sublayers, Seconds compute, const DeviceSpec& spec);
[[nodiscard]] Estimate divided_estimate(const SubLayers& sublayers, const InnerEstimates& inner,
                                        const DividedChoice& choice, const DeviceSpec& spec);

// Buffers of the estimate, for code that builds the layer.
inline constexpr std::string_view gathered_kernels = "gathered kernels";  // host, persistent: gathered if f is divided
[[nodiscard]] std::string sublayer_prefix(std::int64_t output,
                                          std::int64_t term);  // "sub-layer 2.0/": for persistent buffers
// Returns the number of slots of a kind of sub-layer: two, or one if there is only one sub-layer.
[[nodiscard]] constexpr std::int64_t slots(std::int64_t sublayers) { return sublayers > 1 ? 2 : 1; }
// Returns the number of slots of partial sums: a sum of two sub-layers needs only one.
[[nodiscard]] constexpr std::int64_t partial_slots(const SubLayers& sublayers) {
  return sublayers.terms > 2 ? 2 : sublayers.terms - 1;
}
// Returns the bytes from one slot to the next.
[[nodiscard]] std::int64_t slot_bytes(const Shape5& shape, Format format);
// Returns the floats of one sub-layer's kernels.
[[nodiscard]] std::int64_t sublayer_kernel_floats(const SubLayers& sublayers);

}  // namespace znni::hybrid
