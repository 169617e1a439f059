#include "server/pipeline/split/stage.hpp"

#include <algorithm>
#include <utility>

namespace znni {
namespace {

// Returns the elements of one input of a tensor: S of them follow each other.
std::int64_t input_elements(const Shape5& shape) { return shape.f * voxels(shape.n); }

float* floats(const Reservation& block) { return reinterpret_cast<float*>(block.data()); }

}  // namespace

Result<HostStage> HostStage::open(SegmentDesign design, const NetworkWeights& weights, const PlaceDevices& devices,
                                  const Arena::Poison& poison) {
  const std::int64_t bytes = writes_in_place(design) ? 0 : tensor_bytes(design.micro_batch_output(), {});
  Result<PreparedSchedule> segment = PreparedSchedule::open(std::move(design), weights, devices, poison);
  if (!segment) return segment.error();
  HostStage stage(std::move(*segment));
  Result<Reservation> block = devices.cpu->reserve(MemorySpace::host, bytes, "output of a micro-batch");
  if (!block) return block.error();
  stage.micro_batch_output_ = std::move(*block);
  return stage;
}

TensorView HostStage::new_planes(float* tensor) const {
  const std::int64_t kept = design().geometry.histories.kept.front();
  return view_from(dense_view(tensor, design().whole_tensor()), {kept, 0, 0});
}

Result<void> HostStage::run(float* input, const TensorView& output, std::int64_t pass, const std::stop_token& stop) {
  if (writes_in_place(design())) return segment_.run_micro_batch(input, output, pass, stop);
  const TensorView own = dense_view(floats(micro_batch_output_), design().micro_batch_output());
  for (std::int64_t micro_batch = 0; micro_batch < design().micro_batches(); ++micro_batch) {
    float* const from = input + micro_batch * elements(design().micro_batch_tensor());
    if (Result<void> ran = segment_.run_micro_batch(from, own, pass * design().micro_batches() + micro_batch, stop);
        !ran)
      return ran;
    for (std::int64_t channel = 0; channel < own.shape.S * own.shape.f; ++channel) {
      const std::int64_t s = channel / own.shape.f;
      const std::int64_t j = channel % own.shape.f;
      std::copy_n(own.channel(s, j), voxels(own.shape.n), output.channel(place_of_output(design(), micro_batch, s), j));
    }
  }
  return {};
}

Result<GpuStage> GpuStage::open(SegmentDesign design, const NetworkWeights& weights, Accelerator& accelerator,
                                const Arena::Poison& poison) {
  Result<PreparedSchedule> segment =
      PreparedSchedule::open(std::move(design), weights, {accelerator, &accelerator}, poison);
  if (!segment) return segment.error();
  GpuStage stage(std::move(*segment), accelerator);
  for (Slot& slot : stage.slots_) {
    if (Result<void> filled = stage.fill_slot(slot); !filled) return filled.error();
  }
  return stage;
}

Result<void> GpuStage::fill_slot(Slot& slot) {
  for (const auto& [block, shape] : {std::pair{&slot.input, design().micro_batch_tensor()},
                                     std::pair{&slot.output, design().micro_batch_output()}}) {
    Result<Reservation> reserved =
        accelerator_->reserve(MemorySpace::device, tensor_bytes(shape, {}), "tensors between host and GPU");
    if (!reserved) return reserved.error();
    *block = std::move(*reserved);
  }
  for (Event* event : {&slot.filled, &slot.computed, &slot.fetched}) {
    Result<Event> made = accelerator_->make_event();
    if (!made) return made.error();
    *event = std::move(*made);
  }
  return {};
}

Result<void> GpuStage::run(const float* input, float* output, std::int64_t pass, const std::stop_token& stop) {
  Result<void> ran = run_micro_batches(input, output, pass, stop);
  Result<void> dry = accelerator_->synchronise();
  return ran ? dry : ran;
}

Result<void> GpuStage::run_micro_batches(const float* input, float* output, std::int64_t pass,
                                         const std::stop_token& stop) {
  for (std::int64_t micro_batch = 0; micro_batch < design().micro_batches(); ++micro_batch) {
    Slot& slot = slots_[static_cast<std::size_t>(micro_batch % 2)];
    // No more than two micro-batches are under way, so that a stop is heard.
    if (Result<void> free = accelerator_->synchronise(slot.fetched); !free) return free;
    if (Result<void> sent = send(micro_batch, input, slot); !sent) return sent;
    const std::int64_t number = pass * design().micro_batches() + micro_batch;
    const TensorView out = dense_view(floats(slot.output), design().micro_batch_output());
    if (Result<void> ran = segment_.run_micro_batch(floats(slot.input), out, number, stop); !ran) return ran;
    if (Result<void> done = accelerator_->record(Stream::compute, slot.computed); !done) return done;
    if (Result<void> fetched = fetch(micro_batch, output, slot); !fetched) return fetched;
  }
  return {};
}

// Sends the new planes of every channel behind its planes of earlier steps.
Result<void> GpuStage::send(std::int64_t micro_batch, const float* input, Slot& slot) {
  const Shape5& in = design().micro_batch_input();
  const std::int64_t channel = tensor_bytes({1, 1, in.n}, {});
  const std::int64_t with_history = tensor_bytes({1, 1, design().micro_batch_tensor().n}, {});
  const auto* const from = reinterpret_cast<const std::byte*>(input + micro_batch * elements(in));
  std::byte* const to = slot.input.data() + with_history - channel;
  const CopyRows rows = with_history == channel ? CopyRows{tensor_bytes(in, {}), 1, 0, 0}
                                                : CopyRows{channel, in.S * in.f, with_history, channel};
  if (Result<void> sent = accelerator_->upload(Stream::upload, to, from, rows); !sent) return sent;
  if (Result<void> marked = accelerator_->record(Stream::upload, slot.filled); !marked) return marked;
  return accelerator_->wait(Stream::compute, slot.filled);
}

Result<void> GpuStage::fetch(std::int64_t micro_batch, float* output, Slot& slot) {
  if (Result<void> waits = accelerator_->wait(Stream::download, slot.computed); !waits) return waits;
  const Shape5& out = design().micro_batch_output();
  const std::int64_t bytes = input_elements(out) * std::int64_t{sizeof(float)};
  for (std::int64_t s = 0; s < out.S; ++s) {
    auto* const to = reinterpret_cast<std::byte*>(output) + place_of_output(design(), micro_batch, s) * bytes;
    Result<void> sent = accelerator_->download(Stream::download, to, slot.output.data() + s * bytes, {bytes, 1, 0, 0});
    if (!sent) return sent;
  }
  return accelerator_->record(Stream::download, slot.fetched);
}

}  // namespace znni
