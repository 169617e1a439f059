#include "server/pipeline/schedule/schedule_memory.hpp"

#include <array>
#include <utility>

#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::array spaces = {MemorySpace::host, MemorySpace::pinned, MemorySpace::device};

}  // namespace

Result<ScheduleMemory> ScheduleMemory::reserve(const Schedule& schedule, const MemoryDevice& memory_device) {
  ScheduleMemory memory;
  memory.places_.assign(schedule.memory.size(), nullptr);
  for (const MemorySpace space : spaces) {
    const Packing packing = pack(schedule.memory, space);
    if (packing.bytes == 0) continue;
    Result<Reservation> block = memory_device(space).reserve(space, packing.bytes, "activations and scratch");
    if (!block) return block.error();
    memory.lay(packing, block->data());
    memory.blocks_.push_back(std::move(*block));
  }
  if (Result<void> reserved = memory.reserve_persistent(schedule.memory, memory_device); !reserved)
    return reserved.error();
  return memory;
}

Result<ScheduleMemory> ScheduleMemory::reserve_beside(const Schedule& schedule, const Packing& packing,
                                                      std::byte* block, const MemoryDevice& memory_device) {
  ScheduleMemory memory;
  memory.places_.assign(schedule.memory.size(), nullptr);
  memory.lay(packing, block);
  if (Result<void> reserved = memory.reserve_persistent(schedule.memory, memory_device); !reserved)
    return reserved.error();
  return memory;
}

void ScheduleMemory::lay(const Packing& packing, std::byte* block) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (packing.offsets[i] >= 0) places_[i] = block + packing.offsets[i];
  }
}

Result<void> ScheduleMemory::reserve_persistent(const MemoryPlan& memory, const MemoryDevice& memory_device) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i].lifetime.persistent) continue;
    Result<Reservation> block =
        memory_device(memory[i].space).reserve(memory[i].space, memory[i].bytes, memory[i].name);
    if (!block) return block.error();
    places_[i] = block->data();
    persistent_bytes_ = add(persistent_bytes_, block->bytes());
    blocks_.push_back(std::move(*block));
  }
  return {};
}

std::byte* ScheduleMemory::place(int buffer) const { return places_[index(buffer)]; }

TensorView ScheduleMemory::view(const ScheduledTensor& tensor) const {
  return dense_view(reinterpret_cast<float*>(place(tensor.buffer)), tensor.shape, tensor.format);
}

std::vector<Placement> ScheduleMemory::placements(const Call& call) const {
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < call.buffers.size(); ++i) {
    placements.push_back({call.estimate.memory[i], place(call.buffers[i])});
  }
  return placements;
}

LayerWeights weights_of(const Call& call, int node, std::span<const NodeWeights> weights,
                        std::span<const std::span<const float>> swapped) {
  if (call.is_reorder || node < 0) return {};
  LayerWeights own = weights[index(node)].view();
  if (!swapped.empty()) own.kernels = swapped[index(node)];
  return own;
}

}  // namespace znni
