#include "planner/measure/layer_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "primitives/core/clock_time.hpp"

namespace znni {
namespace {

constexpr std::int64_t noise_floats = 1 << 14;

std::vector<float> normals(std::int64_t count, float deviation, std::uint64_t seed) {
  std::mt19937 engine(static_cast<std::uint32_t>(seed));
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = normal(engine);
  return numbers;
}

float* floats(std::byte* block, std::int64_t offset) { return reinterpret_cast<float*>(block + offset); }

// Places persistent buffers one after the other.
std::vector<Placement> place_kept(const MemoryPlan& memory, std::byte* block) {
  std::vector<Placement> placements;
  std::int64_t offset = 0;
  for (const Buffer& buffer : memory) {
    if (!buffer.lifetime.persistent) continue;
    placements.push_back({buffer, block + offset});
    offset += round_up(buffer.bytes, buffer_alignment);
  }
  return placements;
}

std::int64_t kept_bytes(const MemoryPlan& memory) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : memory) {
    if (buffer.lifetime.persistent) sum = add(sum, round_up(buffer.bytes, buffer_alignment));
  }
  return sum;
}

}  // namespace

LayerParameters random_parameters(const LayerProblem& problem) {
  LayerParameters parameters;
  if (const ConvProblem* conv = convolution_of(problem)) {
    const std::int64_t fan_in = terms_of(*conv);
    parameters.kernels = normals(conv->f_out * fan_in, std::sqrt(2.0F / static_cast<float>(fan_in)), 1);
    parameters.bias = normals(conv->f_out, 0.1F, 2);
  }
  if (has_scale(problem)) {
    const auto* stack = std::get_if<StackProblem>(&problem);
    const std::int64_t f = (stack == nullptr ? 1 : scaled_stages(*stack)) * input_shape(problem, 0).f;
    parameters.scale = normals(f, 1.0F, 3);
    parameters.shift = normals(f, 0.1F, 4);
  }
  if (std::holds_alternative<AddVolumeProblem>(problem)) {
    parameters.shift = normals(elements(input_shape(problem, 0)), 0.1F, 4);
  }
  return parameters;
}

LayerRun::LayerRun(const LayerProblem& problem, const Estimate& estimate, const Reservation& block, Device& device)
    : problem_(problem), estimate_(estimate), device_(device) {
  lay_out(block);
}

Result<std::unique_ptr<LayerRun>> LayerRun::make(const LayerProblem& problem, const Primitive& primitive,
                                                 const Estimate& estimate, const LayerParameters& parameters,
                                                 const Reservation& block, Device& device) {
  ensure(block.bytes() >= pack(estimate.memory).bytes, "the block is too small for the layer");
  std::unique_ptr<LayerRun> run(new LayerRun(problem, estimate, block, device));
  Result<Reservation> kept = device.reserve(MemorySpace::host, kept_bytes(estimate.memory), primitive.name);
  if (!kept) return kept.error();
  run->kept_ = std::move(*kept);
  run->persistent_ = std::make_unique<Arena>(place_kept(estimate.memory, run->kept_.data()));
  Result<std::unique_ptr<PreparedLayer>> layer =
      primitive.prepare(run->problem_, run->estimate_, parameters.view(), *run->persistent_, device);
  if (!layer) return layer.error().within(primitive.name);
  run->layer_ = std::move(*layer);
  return run;
}

void LayerRun::lay_out(const Reservation& block) {
  const Packing packing = pack(estimate_.memory);
  inputs_.resize(static_cast<std::size_t>(input_count(problem_)));
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < estimate_.memory.size(); ++i) {
    const Buffer& buffer = estimate_.memory[i];
    if (packing.offsets[i] < 0) continue;
    placements.push_back({buffer, block.data() + packing.offsets[i]});
    float* const data = floats(block.data(), packing.offsets[i]);
    if (buffer.name == output_name) output_ = dense_view(data, output_shape(problem_), estimate_.out);
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      if (buffer.name != input_name(static_cast<int>(input))) continue;
      const int index = static_cast<int>(input);
      const Format format = input_format(problem_, index, estimate_.in, estimate_.out);
      inputs_[input] = dense_view(data, input_shape(problem_, index), format);
    }
  }
  transient_ = std::make_unique<Arena>(std::move(placements));
}

void LayerRun::fill_inputs() {
  const std::vector<float> noise = normals(noise_floats, 1.0F, 5);
  for (const TensorView& input : inputs_) {
    const std::int64_t count = tensor_bytes(input.shape, input.format) / static_cast<std::int64_t>(sizeof(float));
    device_.executor().parallel_for(div_up(count, noise_floats), [&](std::int64_t piece, int) {
      const std::int64_t first = piece * noise_floats;
      std::copy_n(noise.begin(), std::min(noise_floats, count - first), input.data + first);
    });
  }
}

Result<Seconds> LayerRun::run() {
  fill_inputs();
  return run_filled();
}

Result<Seconds> LayerRun::run_filled() {
  transient_->begin();
  const auto start = std::chrono::steady_clock::now();
  Result<void> done = layer_->run(inputs_, output_, *transient_);
  const Seconds taken = seconds_since(start);
  if (!done) return done.error();
  return taken;
}

}  // namespace znni
