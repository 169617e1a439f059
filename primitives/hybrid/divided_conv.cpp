#include "primitives/hybrid/divided_conv.hpp"

#include <algorithm>
#include <string>

#include "primitives/core/precision.hpp"
#include "primitives/core/refusals.hpp"
#include "primitives/hybrid/layers_in_turn.hpp"
#include "primitives/hybrid/reordered_conv.hpp"

namespace znni::hybrid {
namespace {

Result<void> check_format(const SubLayers& parts, Format format) {
  const bool cuts_images = parts.terms > 1 || parts.outputs > 1;
  if (format.layout == Layout::planar) return {};
  if (format.layout == Layout::channels_last && !cuts_images) return {};
  return refused("tensors in " + to_string(format) + " cannot be cut " +
                 (cuts_images && format.layout == Layout::channels_last ? "in f or f_out" : "in parts"));
}

// Fails if the formats of host memory or of partial sums cannot be divided in this way.
Result<void> check_formats(const SubLayers& parts, const DividedChoice& choice) {
  for (const Format format : {choice.host_in(), choice.host_out()}) {
    if (Result<void> sound = check_format(parts, format); !sound) return sound;
  }
  if (parts.terms == 1 || precision_of(choice.variant, choice.in, choice.out) < Precision::bf16) return {};
  return refused("sums over parts of f would be rounded to bf16");
}

const Estimate* find(const std::vector<Estimate>& estimates, const DividedChoice& choice) {
  const auto found = std::find_if(estimates.begin(), estimates.end(), [&](const Estimate& estimate) {
    return estimate.variant == choice.variant && estimate.in == choice.in && estimate.out == choice.out;
  });
  return found == estimates.end() ? nullptr : &*found;
}

// Fails unless all buffers of a part are device memory; persistent ones are exempt.
Result<void> check_inner(const Primitive& inner, const Estimate& estimate) {
  for (const Buffer& buffer : estimate.memory) {
    if (buffer.lifetime.persistent || buffer.space == MemorySpace::device) continue;
    return refused(std::string(inner.name) + " keeps '" + buffer.name + "' in " + std::string(to_string(buffer.space)) +
                   " memory; parts are computed in device memory alone");
  }
  return {};
}

Result<Estimate> pick(const ConvProblem& part, const DividedChoice& choice, const Result<std::vector<Estimate>>& all) {
  if (!all) return all.error().within(std::string(choice.inner->name) + " of " + to_string(LayerProblem(part)));
  const Estimate* const found = find(*all, choice);
  if (found == nullptr) {
    return refused(std::string(choice.inner->name) + " of " + to_string(LayerProblem(part)) + " has no variant '" +
                   to_string(choice.variant) + "' from " + to_string(choice.in) + " to " + to_string(choice.out));
  }
  if (Result<void> sound = check_inner(*choice.inner, *found); !sound) return sound.error();
  return *found;
}

Result<Estimate> inner_estimate(const ConvProblem& part, const DividedChoice& choice, const DeviceSpec& spec,
                                const DescribePart& describe) {
  return describe ? pick(part, choice, describe(part)) : pick(part, choice, choice.inner->describe(part, spec));
}

Seconds sum_seconds(const SubLayers& parts, const std::vector<Estimate>& of) {
  if (parts.terms == 1) return of.front().time;
  const auto middle = static_cast<double>(parts.terms - 2);
  return of.front().time + of.back().time + (middle > 0 ? middle * of[1].time : 0);
}

// Returns the time to move one part of a tensor of `whole`: in one copy if staged, otherwise in one copy per piece.
Seconds moved(const LinkRate& link, const Shape5& whole, const Shape5& part, Format format, bool staged) {
  std::int64_t copies = staged ? 1 : 0;
  const auto count = [&](std::int64_t, const CopyRows&) { ++copies; };
  if (!staged) visit_pieces(dense_view(nullptr, whole, format), {0, 0, 0, part}, count);
  return static_cast<double>(copies) * link.seconds_per_copy +
         static_cast<double>(tensor_bytes(part, format)) / link.bytes_per_second;
}

// Returns the times of a part. `compute`: of each sum.
PartSeconds part_seconds(const SubLayers& parts, Seconds compute, const DividedChoice& choice,
                         const AcceleratorSpec& link) {
  const Shape5 whole_out = output_shape(parts.whole);
  const auto in_bytes = static_cast<double>(tensor_bytes(parts.in, choice.host_in()));
  const auto out_bytes = static_cast<double>(tensor_bytes(parts.out, choice.host_out()));
  PartSeconds part;
  part.compute = compute;
  part.upload = moved(link.up, parts.whole.in, parts.in, choice.host_in(), choice.staged);
  part.download = moved(link.down, whole_out, parts.out, choice.host_out(), choice.staged);
  part.duplex = (static_cast<double>(parts.uploads()) * in_bytes +
                 static_cast<double>(parts.sums()) * (parts.whole.residual ? 2 : 1) * out_bytes) /
                link.duplex_bytes_per_second;
  if (parts.whole.residual) {
    part.residual = moved(link.up, whole_out, parts.out, choice.host_out(), choice.staged);
  }
  if (!choice.staged) return part;
  part.stage_in = in_bytes / link.staging_bytes_per_second;
  part.stage_out = (parts.whole.residual ? 2 : 1) * out_bytes / link.staging_bytes_per_second;
  return part;
}

void add_tensors(const SubLayers& parts, const DividedChoice& choice, MemoryPlan& memory) {
  const MemorySpace tensors = choice.staged ? MemorySpace::host : MemorySpace::pinned;
  memory = input_output_buffers(parts.whole, choice.host_in(), choice.host_out(), 0, tensors);
}

void add_slots(const SubLayers& parts, const DividedChoice& choice, MemoryPlan& memory) {
  const auto add_pair = [&](const std::string& name, std::int64_t count, std::int64_t bytes) {
    memory.push_back({name, MemorySpace::device, mul(count, bytes), Lifetime::stages(0, 0)});
    if (choice.staged)
      memory.push_back({"staged " + name, MemorySpace::pinned, mul(count, bytes), Lifetime::stages(0, 0)});
  };
  const std::int64_t out = slot_bytes(parts.out, choice.host_out());
  add_pair("inputs", slots(parts.uploads()), slot_bytes(parts.in, choice.host_in()));
  if (parts.whole.residual) add_pair("residuals", slots(parts.sums()), out);
  add_pair("outputs", slots(parts.sums()), out);
  if (parts.terms == 1) return;
  memory.push_back({"partial sums", MemorySpace::device, mul(partial_slots(parts), out), Lifetime::stages(0, 0)});
}

void add_inner(const SubLayers& parts, const InnerEstimates& inner, MemoryPlan& memory) {
  std::int64_t scratch = 0;
  for (const Estimate& each : inner.parts()) scratch = std::max(scratch, scratch_bytes(each));
  if (scratch > 0) memory.push_back({"scratch", MemorySpace::device, scratch, Lifetime::stages(0, 0)});
  for (std::int64_t output = 0; output < parts.outputs; ++output) {
    for (std::int64_t term = 0; term < parts.terms; ++term) {
      for (Buffer buffer : inner.of[inner.index(parts, term)].memory) {
        if (!buffer.lifetime.persistent) continue;
        buffer.name.insert(0, part_prefix(output, term));
        memory.push_back(std::move(buffer));
      }
    }
  }
  if (parts.terms == 1) return;
  const std::int64_t floats = mul(mul(parts.outputs, parts.terms), part_kernel_floats(parts));
  memory.push_back(
      {std::string(kernel_parts), MemorySpace::host, mul(floats, std::int64_t{sizeof(float)}), Lifetime::plan()});
}

}  // namespace

std::string part_prefix(std::int64_t output, std::int64_t term) {
  return "part " + std::to_string(output) + "." + std::to_string(term) + "/";
}

std::int64_t slot_bytes(const Shape5& shape, Format format) {
  return round_up(tensor_bytes(shape, format), buffer_alignment);
}

std::int64_t part_kernel_floats(const SubLayers& parts) {
  return mul(mul(parts.part.f_out, parts.part.f), voxels(parts.whole.k));
}

DividedSeconds divided_seconds(const SubLayers& parts, const PartSeconds& part) {
  const auto sums = static_cast<double>(parts.sums());
  const auto uploads = static_cast<double>(parts.uploads());
  // Time left to compute when the last upload is done.
  const Seconds last = parts.terms > 1 ? part.compute / static_cast<double>(parts.terms)
                                       : static_cast<double>(parts.outputs) * part.compute;
  DividedSeconds all;
  all.compute = sums * part.compute;
  all.upload = uploads * part.upload + sums * part.residual;
  all.download = sums * part.download;
  all.staging = uploads * part.stage_in + sums * part.stage_out;
  const Seconds way_in = part.stage_in + part.upload + part.residual;
  const Seconds way_out = part.download + part.stage_out;
  all.total = std::max({all.compute + way_in + way_out, all.upload + part.stage_in + last + way_out,
                        all.download + way_in + part.compute + part.stage_out,
                        all.staging + part.upload + last + part.download, part.duplex});
  return all;
}

Result<InnerEstimates> inner_estimates(const SubLayers& parts, const DividedChoice& choice, const DeviceSpec& spec,
                                       const DescribePart& describe) {
  if (Result<void> sound = check_formats(parts, choice); !sound) return sound.error();
  std::vector<std::int64_t> steps = {0};
  if (parts.terms > 2) steps.push_back(1);
  if (parts.terms > 1) steps.push_back(parts.terms - 1);
  InnerEstimates inner;
  for (const std::int64_t step : steps) {
    Result<Estimate> estimate = inner_estimate(parts.problem(step), choice, spec, describe);
    if (!estimate) return estimate.error();
    inner.of.push_back(std::move(*estimate));
    if (choice.reorder == nullptr) continue;
    Result<Estimate> whole = describe_reordered(parts.problem(step), inner.of.back(), *choice.reorder, spec);
    if (!whole) return whole.error();
    inner.reordered.push_back(std::move(*whole));
  }
  return inner;
}

Seconds divided_time(const SubLayers& parts, const InnerEstimates& inner, const DividedChoice& choice,
                     const DeviceSpec& spec) {
  const Seconds compute = sum_seconds(parts, inner.parts());
  return divided_seconds(parts, part_seconds(parts, compute, choice, spec.accelerator)).total;
}

Seconds min_divided_time(const SubLayers& parts, Seconds compute, const DeviceSpec& spec) {
  return divided_seconds(parts, part_seconds(parts, compute, {}, spec.accelerator)).total;
}

Estimate divided_estimate(const SubLayers& parts, const InnerEstimates& inner, const DividedChoice& choice,
                          const DeviceSpec& spec) {
  Estimate estimate{choice.variant, choice.host_in(), choice.host_out(), divided_time(parts, inner, choice, spec), {}};
  add_tensors(parts, choice, estimate.memory);
  add_slots(parts, choice, estimate.memory);
  add_inner(parts, inner, estimate.memory);
  for (const Estimate& each : inner.parts()) estimate.spread = max(estimate.spread, each.spread);
  return estimate;
}

Result<Estimate> describe_divided(const ConvProblem& conv, const DividedChoice& choice, const DeviceSpec& spec) {
  const Result<SubLayers> parts = divide(conv, choice.division);
  if (!parts) return parts.error();
  const Result<InnerEstimates> inner = inner_estimates(*parts, choice, spec);
  if (!inner) return inner.error();
  return divided_estimate(*parts, *inner, choice, spec);
}

}  // namespace znni::hybrid
