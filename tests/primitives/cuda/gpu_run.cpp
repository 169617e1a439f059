#include "tests/primitives/cuda/gpu_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/cuda/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

// Largest ||out - expected|| / ||expected|| where products or tensors are rounded.
constexpr double tf32_error = 2e-3;
constexpr double bf16_error = 1.5e-2;

class GpuRun {
 public:
  GpuRun(const LayerProblem& problem, const Estimate& estimate, CudaDevice& device)
      : problem_(problem), estimate_(estimate), device_(device) {}

  Result<void> prepare(const Primitive& primitive, const LayerWeights& weights) {
    if (Result<void> reserved = reserve(); !reserved) return reserved;
    Arena persistent(placements_);
    Result<std::unique_ptr<PreparedLayer>> layer = primitive.prepare(problem_, estimate_, weights, persistent, device_);
    if (!layer) return layer.error();
    layer_ = std::move(*layer);
    return {};
  }

  Result<std::vector<float>> run(std::span<const std::vector<float>> inputs) {
    Result<void> poisoned = device_.fill(
        Stream::compute, {transient_.data(), static_cast<std::size_t>(transient_.bytes())}, std::byte{0xff});
    if (!poisoned) return poisoned.error();
    std::vector<TensorView> views;
    for (int i = 0; i < input_count(problem_); ++i) {
      HostTensor tensor(input_shape(problem_, i), input_format(problem_, i, estimate_.in, estimate_.out));
      tensor.store(inputs[static_cast<std::size_t>(i)]);
      TensorView view = tensor.view();
      const auto* const from = reinterpret_cast<const std::byte*>(view.data);
      std::byte* const to = find(input_name(i));
      const auto bytes = static_cast<std::size_t>(tensor_bytes(view.shape, view.format));
      if (Result<void> there = device_.write(to, {from, bytes}); !there) return there.error();
      view.data = reinterpret_cast<float*>(to);
      views.push_back(view);
    }
    HostTensor out(output_shape(problem_), estimate_.out);
    TensorView view = out.view();
    auto* const host = reinterpret_cast<std::byte*>(view.data);
    view.data = reinterpret_cast<float*>(find(output_name));
    Arena arena(placements_);
    if (Result<void> done = layer_->run(views, view, arena); !done) return done.error();
    const auto bytes = static_cast<std::size_t>(tensor_bytes(view.shape, view.format));
    if (Result<void> read = device_.read({host, bytes}, find(output_name)); !read) return read.error();
    EXPECT_EQ(arena.high_water(MemorySpace::device), peak(estimate_.memory, MemorySpace::device));
    return out.load();
  }

 private:
  Result<void> reserve() {
    const Packing packing = pack(estimate_.memory, MemorySpace::device);
    Result<Reservation> transient = device_.reserve(MemorySpace::device, packing.bytes, "transient buffers");
    if (!transient) return transient.error();
    transient_ = std::move(*transient);
    for (std::size_t i = 0; i < estimate_.memory.size(); ++i) {
      const Buffer& buffer = estimate_.memory[i];
      if (!buffer.lifetime.persistent) {
        placements_.push_back({buffer, transient_.data() + packing.offsets[i]});
        continue;
      }
      Result<Reservation> own = device_.reserve(MemorySpace::device, buffer.bytes, buffer.name);
      if (!own) return own.error();
      placements_.push_back({buffer, own->data()});
      persistent_.push_back(std::move(*own));
    }
    return {};
  }

  std::byte* find(std::string_view name) const {
    const auto found = std::find_if(placements_.begin(), placements_.end(),
                                    [&](const Placement& one) { return one.buffer.name == name; });
    ensure(found != placements_.end(), "the estimate declares no such buffer");
    return found->data;
  }

  LayerProblem problem_;
  Estimate estimate_;
  CudaDevice& device_;
  Reservation transient_;
  std::vector<Reservation> persistent_;
  std::vector<Placement> placements_;
  std::unique_ptr<PreparedLayer> layer_;
};

double distance(const std::vector<float>& found, const oracle::Values& expected) {
  double difference = 0.0;
  double whole = 1e-30;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    whole += expected[i] * expected[i];
  }
  return std::sqrt(difference / whole);
}

bool rounds_to_half(const Estimate& estimate) {
  return estimate.in.type != ElementType::f32 || estimate.out.type != ElementType::f32;
}

}  // namespace

Result<std::vector<float>> run_twice(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                                     const LayerWeights& weights, std::span<const std::vector<float>> inputs,
                                     CudaDevice& device) {
  GpuRun run(problem, estimate, device);
  if (Result<void> prepared = run.prepare(primitive, weights); !prepared) return prepared.error();
  Result<std::vector<float>> first = run.run(inputs);
  if (!first) return first;
  const Result<std::vector<float>> second = run.run(inputs);
  if (!second) return second.error();
  EXPECT_EQ(std::memcmp(first->data(), second->data(), first->size() * sizeof(float)), 0) << "a run changes the next";
  return first;
}

void check_on_gpu(const Primitive& primitive, const LayerProblem& problem, CudaDevice& device, std::uint64_t seed) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, device.spec());
  if (!estimates) return;
  test::Random random(seed);
  const test::Weights weights = test::random_weights(problem, random);
  const std::vector<std::vector<float>> inputs = test::random_inputs(problem, random);
  std::vector<oracle::Values> exact;
  for (const std::vector<float>& input : inputs) exact.push_back(oracle::widened(input));
  const oracle::Values expected = oracle::oracle_run(problem, exact, weights.view());
  for (const Estimate& estimate : *estimates) {
    const std::string name = test::name_of(primitive, problem, estimate, seed);
    SCOPED_TRACE(name);
    const Result<std::vector<float>> found = run_twice(primitive, problem, estimate, weights.view(), inputs, device);
    if (!found) {
      ADD_FAILURE() << found.error().message;
      continue;
    }
    if (rounds_to_half(estimate)) {
      EXPECT_LE(distance(*found, expected), bf16_error);
    } else if (setting(estimate.variant, "tf32", 0) == 1) {
      EXPECT_LE(distance(*found, expected), tf32_error);
    } else {
      test::expect_close(*found, expected, oracle::tolerance(problem, exact, weights.view()), name);
    }
  }
}

}  // namespace znni::cuda
