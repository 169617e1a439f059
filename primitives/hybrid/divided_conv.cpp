#include "primitives/hybrid/divided_conv.hpp"

#include <algorithm>
#include <string>

#include "primitives/core/precision.hpp"
#include "primitives/core/refusals.hpp"
#include "primitives/hybrid/layers_in_turn.hpp"
#include "primitives/hybrid/reordered_conv.hpp"

namespace znni::hybrid {
namespace {

Result<void> check_format(const SubLayers& sublayers, Format format) {
  const bool cuts_channels = sublayers.terms > 1 || sublayers.outputs > 1;
  if (format.layout == Layout::planar) return {};
  if (format.layout == Layout::channels_last && !cuts_channels) return {};
  return refused("tensors in " + to_string(format) + " cannot be cut " +
                 (cuts_channels && format.layout == Layout::channels_last ? "in f or f_out" : "in sub-layers"));
}

// Fails if the formats of host memory or of partial sums cannot be divided in this way.
Result<void> check_formats(const SubLayers& sublayers, const DividedChoice& choice) {
  for (const Format format : {choice.host_in(), choice.host_out()}) {
    if (Result<void> sound = check_format(sublayers, format); !sound) return sound;
  }
  if (sublayers.terms == 1 || precision_of(choice.variant, choice.in, choice.out) < Precision::bf16) return {};
  return refused("sums over parts of f would be rounded to bf16");
}

const Estimate* find(const std::vector<Estimate>& estimates, const DividedChoice& choice) {
  const auto found = std::find_if(estimates.begin(), estimates.end(), [&](const Estimate& estimate) {
    return estimate.variant == choice.variant && estimate.in == choice.in && estimate.out == choice.out;
  });
  return found == estimates.end() ? nullptr : &*found;
}

// Fails unless all buffers of a sub-layer are device memory; persistent ones are exempt.
Result<void> check_inner(const Primitive& inner, const Estimate& estimate) {
  for (const Buffer& buffer : estimate.memory) {
    if (buffer.lifetime.persistent || buffer.space == MemorySpace::device) continue;
    return refused(std::string(inner.name) + " keeps '" + buffer.name + "' in " + std::string(to_string(buffer.space)) +
                   " memory; sub-layers are computed in device memory alone");
  }
  return {};
}

Result<Estimate> pick(const ConvProblem& sublayer, const DividedChoice& choice,
                      const Result<std::vector<Estimate>>& all) {
  if (!all) return all.error().within(std::string(choice.inner->name) + " of " + to_string(LayerProblem(sublayer)));
  const Estimate* const found = find(*all, choice);
  if (found == nullptr) {
    return refused(std::string(choice.inner->name) + " of " + to_string(LayerProblem(sublayer)) + " has no variant '" +
                   to_string(choice.variant) + "' from " + to_string(choice.in) + " to " + to_string(choice.out));
  }
  if (Result<void> sound = check_inner(*choice.inner, *found); !sound) return sound.error();
  return *found;
}

Result<Estimate> inner_estimate(const ConvProblem& sublayer, const DividedChoice& choice, const DeviceSpec& spec,
                                const DescribeSubLayer& describe) {
  return describe ? pick(sublayer, choice, describe(sublayer))
                  : pick(sublayer, choice, choice.inner->describe(sublayer, spec));
}

Seconds sum_seconds(const SubLayers& sublayers, const std::vector<Estimate>& of) {
  if (sublayers.terms == 1) return of.front().time;
  const auto middle = static_cast<double>(sublayers.terms - 2);
  return of.front().time + of.back().time + (middle > 0 ? middle * of[1].time : 0);
}

// Returns the time to move one sub-layer of a tensor of `whole`: in one copy if staged, otherwise in one copy per
// piece.
Seconds moved(const LinkRate& link, const Shape5& whole, const Shape5& sublayer, Format format, bool staged) {
  std::int64_t copies = staged ? 1 : 0;
  const auto count = [&](std::int64_t, const CopyRows&) { ++copies; };
  if (!staged) visit_pieces(dense_view(nullptr, whole, format), {0, 0, 0, sublayer}, count);
  return static_cast<double>(copies) * link.seconds_per_copy +
         static_cast<double>(tensor_bytes(sublayer, format)) / link.bytes_per_second;
}

// Returns the times of a sub-layer. `compute`: of each sum.
SubLayerSeconds sublayer_seconds(const SubLayers& sublayers, Seconds compute, const DividedChoice& choice,
                                 const AcceleratorSpec& link) {
  const Shape5 whole_out = output_shape(sublayers.whole);
  const auto in_bytes = static_cast<double>(tensor_bytes(sublayers.in, choice.host_in()));
  const auto out_bytes = static_cast<double>(tensor_bytes(sublayers.out, choice.host_out()));
  SubLayerSeconds sublayer;
  sublayer.compute = compute;
  sublayer.upload = moved(link.up, sublayers.whole.in, sublayers.in, choice.host_in(), choice.staged);
  sublayer.download = moved(link.down, whole_out, sublayers.out, choice.host_out(), choice.staged);
  sublayer.duplex = (static_cast<double>(sublayers.uploads()) * in_bytes +
                     static_cast<double>(sublayers.sums()) * (sublayers.whole.residual ? 2 : 1) * out_bytes) /
                    link.duplex_bytes_per_second;
  if (sublayers.whole.residual) {
    sublayer.residual = moved(link.up, whole_out, sublayers.out, choice.host_out(), choice.staged);
  }
  if (!choice.staged) return sublayer;
  sublayer.stage_in = in_bytes / link.staging_bytes_per_second;
  sublayer.stage_out = (sublayers.whole.residual ? 2 : 1) * out_bytes / link.staging_bytes_per_second;
  return sublayer;
}

void add_tensors(const SubLayers& sublayers, const DividedChoice& choice, MemoryPlan& memory) {
  const MemorySpace tensors = choice.staged ? MemorySpace::host : MemorySpace::pinned;
  memory = input_output_buffers(sublayers.whole, choice.host_in(), choice.host_out(), 0, tensors);
}

void add_slots(const SubLayers& sublayers, const DividedChoice& choice, MemoryPlan& memory) {
  const auto add_pair = [&](const std::string& name, std::int64_t count, std::int64_t bytes) {
    memory.push_back({name, MemorySpace::device, mul(count, bytes), Lifetime::stages(0, 0)});
    if (choice.staged)
      memory.push_back({"staged " + name, MemorySpace::pinned, mul(count, bytes), Lifetime::stages(0, 0)});
  };
  const std::int64_t out = slot_bytes(sublayers.out, choice.host_out());
  add_pair("inputs", slots(sublayers.uploads()), slot_bytes(sublayers.in, choice.host_in()));
  if (sublayers.whole.residual) add_pair("residuals", slots(sublayers.sums()), out);
  add_pair("outputs", slots(sublayers.sums()), out);
  if (sublayers.terms == 1) return;
  memory.push_back({"partial sums", MemorySpace::device, mul(partial_slots(sublayers), out), Lifetime::stages(0, 0)});
}

void add_inner(const SubLayers& sublayers, const InnerEstimates& inner, MemoryPlan& memory) {
  std::int64_t scratch = 0;
  for (const Estimate& each : inner.sublayers()) scratch = std::max(scratch, scratch_bytes(each));
  if (scratch > 0) memory.push_back({"scratch", MemorySpace::device, scratch, Lifetime::stages(0, 0)});
  for (std::int64_t output = 0; output < sublayers.outputs; ++output) {
    for (std::int64_t term = 0; term < sublayers.terms; ++term) {
      for (Buffer buffer : inner.of[inner.index(sublayers, term)].memory) {
        if (!buffer.lifetime.persistent) continue;
        buffer.name.insert(0, sublayer_prefix(output, term));
        memory.push_back(std::move(buffer));
      }
    }
  }
  if (sublayers.terms == 1) return;
  const std::int64_t floats = mul(mul(sublayers.outputs, sublayers.terms), sublayer_kernel_floats(sublayers));
  memory.push_back(
      {std::string(gathered_kernels), MemorySpace::host, mul(floats, std::int64_t{sizeof(float)}), Lifetime::plan()});
}

}  // namespace

std::string sublayer_prefix(std::int64_t output, std::int64_t term) {
  return "sub-layer " + std::to_string(output) + "." + std::to_string(term) + "/";
}

std::int64_t slot_bytes(const Shape5& shape, Format format) {
  return round_up(tensor_bytes(shape, format), buffer_alignment);
}

std::int64_t sublayer_kernel_floats(const SubLayers& sublayers) {
  return mul(mul(sublayers.sublayer.f_out, sublayers.sublayer.f), voxels(sublayers.whole.k));
}

DividedSeconds divided_seconds(const SubLayers& sublayers, const SubLayerSeconds& sublayer) {
  const auto sums = static_cast<double>(sublayers.sums());
  const auto uploads = static_cast<double>(sublayers.uploads());
  // Time left to compute when the last upload is done.
  const Seconds last = sublayers.terms > 1 ? sublayer.compute / static_cast<double>(sublayers.terms)
                                           : static_cast<double>(sublayers.outputs) * sublayer.compute;
  DividedSeconds all;
  all.compute = sums * sublayer.compute;
  all.upload = uploads * sublayer.upload + sums * sublayer.residual;
  all.download = sums * sublayer.download;
  all.staging = uploads * sublayer.stage_in + sums * sublayer.stage_out;
  const Seconds way_in = sublayer.stage_in + sublayer.upload + sublayer.residual;
  const Seconds way_out = sublayer.download + sublayer.stage_out;
  all.total = std::max({all.compute + way_in + way_out, all.upload + sublayer.stage_in + last + way_out,
                        all.download + way_in + sublayer.compute + sublayer.stage_out,
                        all.staging + sublayer.upload + last + sublayer.download, sublayer.duplex});
  return all;
}

Result<InnerEstimates> inner_estimates(const SubLayers& sublayers, const DividedChoice& choice, const DeviceSpec& spec,
                                       const DescribeSubLayer& describe) {
  if (Result<void> sound = check_formats(sublayers, choice); !sound) return sound.error();
  std::vector<std::int64_t> steps = {0};
  if (sublayers.terms > 2) steps.push_back(1);
  if (sublayers.terms > 1) steps.push_back(sublayers.terms - 1);
  InnerEstimates inner;
  for (const std::int64_t step : steps) {
    Result<Estimate> estimate = inner_estimate(sublayers.problem(step), choice, spec, describe);
    if (!estimate) return estimate.error();
    inner.of.push_back(std::move(*estimate));
    if (choice.reorder == nullptr) continue;
    Result<Estimate> whole = describe_reordered(sublayers.problem(step), inner.of.back(), *choice.reorder, spec);
    if (!whole) return whole.error();
    inner.reordered.push_back(std::move(*whole));
  }
  return inner;
}

Seconds divided_time(const SubLayers& sublayers, const InnerEstimates& inner, const DividedChoice& choice,
                     const DeviceSpec& spec) {
  const Seconds compute = sum_seconds(sublayers, inner.sublayers());
  return divided_seconds(sublayers, sublayer_seconds(sublayers, compute, choice, spec.accelerator)).total;
}

Seconds min_divided_time(const SubLayers& sublayers, Seconds compute, const DeviceSpec& spec) {
  return divided_seconds(sublayers, sublayer_seconds(sublayers, compute, {}, spec.accelerator)).total;
}

Estimate divided_estimate(const SubLayers& sublayers, const InnerEstimates& inner, const DividedChoice& choice,
                          const DeviceSpec& spec) {
  Estimate estimate{
      choice.variant, choice.host_in(), choice.host_out(), divided_time(sublayers, inner, choice, spec), {}};
  add_tensors(sublayers, choice, estimate.memory);
  add_slots(sublayers, choice, estimate.memory);
  add_inner(sublayers, inner, estimate.memory);
  for (const Estimate& each : inner.sublayers()) estimate.spread = max(estimate.spread, each.spread);
  return estimate;
}

Result<Estimate> describe_divided(const ConvProblem& conv, const DividedChoice& choice, const DeviceSpec& spec) {
  const Result<SubLayers> sublayers = divide(conv, choice.division);
  if (!sublayers) return sublayers.error();
  const Result<InnerEstimates> inner = inner_estimates(*sublayers, choice, spec);
  if (!inner) return inner.error();
  return divided_estimate(*sublayers, *inner, choice, spec);
}

}  // namespace znni::hybrid
