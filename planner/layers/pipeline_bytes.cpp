#include "planner/layers/pipeline_bytes.hpp"

#include <algorithm>
#include <utility>

namespace znni {
namespace {

std::int64_t planar_bytes(const Shape5& shape) { return round_up(tensor_bytes(shape, {}), buffer_alignment); }

// Returns the bytes of a segment's buffers in every space.
SpaceBytes own_bytes(const SegmentDesign& segment) {
  const MemoryPlan& memory = segment.schedule.memory;
  SpaceBytes use;
  for (const auto& [space, bytes] : {std::pair{MemorySpace::host, &use.host},
                                     {MemorySpace::pinned, &use.pinned},
                                     {MemorySpace::device, &use.device}}) {
    *bytes = pack(memory, space).bytes;
    for (const Buffer& buffer : memory) {
      if (buffer.lifetime.persistent && buffer.space == space) *bytes = add(*bytes, round_up(buffer.bytes, 64));
    }
  }
  if (segment.place == Place::gpu) {
    use.device = add(use.device, mul(2, planar_bytes(segment.micro_batch_tensor())));
    use.device = add(use.device, mul(2, planar_bytes(segment.micro_batch_output())));
  } else if (!writes_in_place(segment)) {
    use.host = add(use.host, planar_bytes(segment.micro_batch_output()));
  }
  return use;
}

// Returns the bytes of `micro_batch` of S inputs.
std::int64_t part_bytes(Shape5 shape, std::int64_t micro_batch, std::int64_t S, Format format = {}) {
  shape.S = shape.S / S * micro_batch;
  return round_up(tensor_bytes(shape, format), buffer_alignment);
}

}  // namespace

SegmentBytes segment_bytes(const SegmentDesign& segment) {
  return {segment.place, own_bytes(segment), planar_bytes(segment.whole_input()), planar_bytes(segment.whole_tensor())};
}

SpaceBytes pipeline_bytes(const std::vector<SegmentBytes>& segments, const Shape5& output) {
  SpaceBytes use;
  for (const SegmentBytes& segment : segments) use = use.plus(segment.own);
  const SegmentBytes& first = segments.front();
  const SegmentBytes& last = segments.back();
  const bool has_head = first.place == Place::cpu;
  if (has_head) use.host = add(use.host, first.whole_tensor);
  const SegmentBytes& behind = has_head && segments.size() > 1 ? segments[1] : first;
  const bool copied = behind.place == Place::gpu;
  std::int64_t& between = copied ? use.pinned : use.host;
  between = add(between, mul(2, copied ? behind.whole_input : behind.whole_tensor));
  if (last.place == Place::gpu && behind.place == Place::gpu_host_ram) {
    use.pinned = add(use.pinned, last.whole_input);
  }
  std::int64_t& written = last.place == Place::gpu ? use.pinned : use.host;
  written = add(written, mul(2, planar_bytes(output)));  // one is stitched
  return use;
}

SpaceBytes pipeline_bytes(const RungSegments& parts) {
  std::vector<SegmentBytes> segments;
  for (const SegmentDesign& segment : parts.segments) segments.push_back(segment_bytes(segment));
  return pipeline_bytes(segments, parts.geometry.values.back());
}

MinBytes::MinBytes(Geometry geometry, Format smallest)
    : geometry_(std::move(geometry)), smallest_(smallest), kept_before_{0} {
  for (int value = 0; value <= nodes(); ++value) {
    kept_before_.push_back(add(kept_before_.back(), history(value, smallest_)));
  }
}

std::int64_t MinBytes::history(int value, Format format) const { return history_bytes(geometry_, value, format); }

std::int64_t MinBytes::kept(int first, int last) const {
  return kept_before_[static_cast<std::size_t>(last)] - kept_before_[static_cast<std::size_t>(first)];
}

// Returns the bytes of the tensor of `micro_batch` of S inputs.
std::int64_t MinBytes::tensor(int value, std::int64_t micro_batch, std::int64_t S) const {
  return part_bytes(tensor_shape(geometry_, value), micro_batch, S, smallest_);
}

SpaceBytes MinBytes::on_host(int theta, int until) const {
  const auto value = [&](int number) { return planar_bytes(geometry_.values[static_cast<std::size_t>(number)]); };
  const auto max_between = [&](int first, int last) {
    std::int64_t most = 0;
    for (int number = first + 1; number < last; ++number) most = std::max(most, tensor(number));
    return most;
  };
  const bool has_host_ram = until > theta;
  const bool has_tail = until < nodes();
  SpaceBytes use;
  use.host = add(kept(0, until), add(max_between(0, theta), max_between(theta, until)));
  if (theta > 0) use.host = add(use.host, tensor(0));
  std::int64_t& between = has_host_ram ? use.host : use.pinned;
  between = add(between, mul(2, has_host_ram ? tensor(theta) : value(theta)));
  if (has_tail && has_host_ram) use.pinned = add(use.pinned, value(until));
  std::int64_t& output = has_tail ? use.pinned : use.host;
  output = add(output, mul(2, value(nodes())));
  return use;
}

std::int64_t MinBytes::on_device(int until, std::int64_t micro_batch, const std::vector<bool>& absent,
                                 const LayerBytes& layers) const {
  const std::int64_t S = geometry_.values[static_cast<std::size_t>(until)].S;
  // Tensors cross the cut planar; if they are reordered, planes of earlier steps stand in the reordered tensor.
  const Shape5& in = geometry_.values[static_cast<std::size_t>(until)];
  const std::int64_t input = smallest_ == Format{} ? tensor(until, micro_batch, S) : part_bytes(in, micro_batch, S);
  const std::int64_t ends = add(input, part_bytes(geometry_.values.back(), micro_batch, S));
  std::int64_t most = layers.most;
  for (int value = until + 1; value < nodes(); ++value) {
    const bool left_out = !absent.empty() && absent[static_cast<std::size_t>(value)];
    if (!left_out) most = std::max(most, tensor(value, micro_batch, S));
  }
  return add(add(mul(2, ends), most), add(kept(until, nodes()), layers.persistent));
}

}  // namespace znni
