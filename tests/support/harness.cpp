#include "tests/support/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "primitives/core/volume_layer.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni::test {
namespace {

constexpr unsigned char poison = 0xff;  // a float of these bytes is NaN

// Aligned host memory filled with NaNs.
class Block {
 public:
  explicit Block(std::int64_t bytes) : storage_(static_cast<std::size_t>(bytes + buffer_alignment), std::byte{poison}) {
    void* start = storage_.data();
    std::size_t space = storage_.size();
    data_ = static_cast<std::byte*>(std::align(buffer_alignment, static_cast<std::size_t>(bytes), start, space));
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::vector<std::byte> storage_;
  std::byte* data_ = nullptr;
};

bool is_tensor(std::string_view name) { return name == output_name || name.starts_with("input "); }

}  // namespace

struct Harness::Memory {
  LayerProblem problem;
  Estimate estimate;
  Placing placing = Placing::packed;
  std::vector<Block> blocks;  // persistent and scratch; also tensors if packed
  std::vector<Placement> placements;
  std::vector<TensorView> inputs;
  TensorView output;
  // Memory of the windows, for separate placing.
  std::vector<std::vector<float>> windows;

  TensorView add_window(const Shape5& shape, Format format, std::uint64_t seed) {
    const bool in_volume = placing == Placing::volumes && format == Format{};
    Window window = in_volume ? plane_major_window(shape) : strided_window(shape, format, seed);
    windows.emplace_back(static_cast<std::size_t>(window.elements), std::nanf(""));
    window.view.data = windows.back().data() + window.before;
    return window.view;
  }

  std::byte* find(std::string_view name) const {
    for (const Placement& placement : placements) {
      if (placement.buffer.name == name) return placement.data;
    }
    ensure(false, "the plan declares no buffer '" + std::string(name) + "'");
    return nullptr;
  }

  TensorView packed_view(std::string_view name, const Shape5& shape, Format format) const {
    return dense_view(reinterpret_cast<float*>(find(name)), shape, format);
  }

  void place_buffers() {
    const Packing packing = pack(estimate.memory);
    if (placing == Placing::packed) blocks.emplace_back(packing.bytes);
    for (std::size_t i = 0; i < estimate.memory.size(); ++i) {
      const Buffer& buffer = estimate.memory[i];
      const bool in_block = placing == Placing::packed && !buffer.lifetime.persistent;
      const bool own = !in_block && (placing == Placing::packed || !is_tensor(buffer.name));
      if (own) blocks.emplace_back(buffer.bytes);
      std::byte* data = in_block ? blocks.front().data() + packing.offsets[i] : nullptr;
      placements.push_back({buffer, own ? blocks.back().data() : data});
    }
  }

  void place_tensors(std::uint64_t seed) {
    for (int index = 0; index < input_count(problem); ++index) {
      const Shape5 shape = input_shape(problem, index);
      const Format format = input_format(problem, index, estimate.in, estimate.out);
      inputs.push_back(placing == Placing::packed
                           ? packed_view(input_name(index), shape, format)
                           : add_window(shape, format, seed + static_cast<std::uint64_t>(index)));
    }
    const Shape5 shape = output_shape(problem);
    output = placing == Placing::packed ? packed_view(output_name, shape, estimate.out)
                                        : add_window(shape, estimate.out, seed + 1000);
  }

  // Returns whether inputs still are what they were. Packed ones may have lent their memory to later buffers.
  [[nodiscard]] bool inputs_kept(std::span<const std::vector<float>> values) const {
    if (placing == Placing::packed) return true;
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (load(inputs[index]) != values[index]) return false;
    }
    return true;
  }

  // Returns whether everything around the output window is still NaN.
  [[nodiscard]] bool surroundings_kept() const {
    if (placing == Placing::packed) return true;
    std::vector<float> block = windows.back();
    TensorView inside = output;
    inside.data = block.data() + (output.data - windows.back().data());
    inside.shape.f = round_up(inside.shape.f, block_width(inside.format.layout));
    store(std::vector<float>(static_cast<std::size_t>(elements(inside.shape)), std::nanf("")), inside);
    return std::all_of(block.begin(), block.end(), [](float value) { return std::isnan(value); });
  }
};

Harness::Harness() : memory_(std::make_unique<Memory>()) {}
Harness::~Harness() = default;

Result<std::unique_ptr<Harness>> Harness::make(const Primitive& primitive, const LayerProblem& problem,
                                               const Estimate& estimate, const LayerWeights& weights, Device& device,
                                               Placing placing, std::uint64_t seed) {
  std::unique_ptr<Harness> harness(new Harness());
  Memory& memory = *harness->memory_;
  memory.problem = problem;
  memory.estimate = estimate;
  memory.placing = placing;
  memory.place_buffers();
  memory.place_tensors(seed);
  Arena persistent(memory.placements);
  Result<std::unique_ptr<PreparedLayer>> layer = primitive.prepare(problem, estimate, weights, persistent, device);
  if (!layer) return layer.error();
  harness->layer_ = std::move(*layer);
  return harness;
}

bool Harness::takes_volumes() const { return dynamic_cast<const VolumeLayer*>(layer_.get()) != nullptr; }

Result<Outcome> Harness::run(std::span<const std::vector<float>> inputs) {
  Memory& memory = *memory_;
  Arena arena(memory.placements, true);
  for (std::size_t index = 0; index < inputs.size(); ++index) store(inputs[index], memory.inputs[index]);
  if (memory.placing != Placing::packed) {
    std::fill(memory.windows.back().begin(), memory.windows.back().end(), std::nanf(""));
  }
  if (Result<void> done = layer_->run(memory.inputs, memory.output, arena); !done) return done.error();
  return Outcome{load(memory.output), arena.high_water(), padding_is_zero(memory.output), memory.surroundings_kept(),
                 memory.inputs_kept(inputs)};
}

Outcome run_once(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                 const LayerWeights& weights, std::span<const std::vector<float>> inputs, Device& device,
                 Placing placing, std::uint64_t seed) {
  const std::string name = name_of(primitive, problem, estimate, seed);
  Result<std::unique_ptr<Harness>> harness =
      Harness::make(primitive, problem, estimate, weights, device, placing, seed);
  if (!harness) {
    ADD_FAILURE() << name << ": prepare: " << harness.error().message;
    return {};
  }
  Result<Outcome> outcome = (*harness)->run(inputs);
  if (!outcome) {
    ADD_FAILURE() << name << ": run: " << outcome.error().message;
    return {};
  }
  return std::move(*outcome);
}

}  // namespace znni::test
