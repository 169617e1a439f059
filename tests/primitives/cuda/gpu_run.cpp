#include "tests/primitives/cuda/gpu_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "tests/oracle/stacks.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/primitives/gpu/stack_places.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

// Largest ||out - expected|| / ||expected|| where products or tensors are rounded.
constexpr double tf32_error = 2e-3;
constexpr double bf16_error = 1.5e-2;

PlanesBefore planes_before(const LayerProblem& problem) {
  const auto* const conv = std::get_if<ConvProblem>(&problem);
  return conv == nullptr ? PlanesBefore() : conv->before;
}

Shape5 behind(Shape5 shape, std::int64_t planes) {
  shape.n.z += planes;
  return shape;
}

// Returns each channel of `values`, of `shape`, behind so many planes of other values.
std::vector<float> behind(const std::vector<float>& values, const Shape5& shape, std::int64_t planes) {
  const std::int64_t own = voxels(shape.n);
  std::vector<float> all;
  for (auto channel = values.begin(); channel != values.end(); channel += own) {
    all.insert(all.end(), static_cast<std::size_t>(planes * shape.n.y * shape.n.x), 1e9F);
    all.insert(all.end(), channel, channel + own);
  }
  return all;
}

// Does the reverse.
std::vector<float> without_planes(const std::vector<float>& all, const Shape5& shape, std::int64_t planes) {
  const std::int64_t own = voxels(shape.n);
  std::vector<float> values;
  for (auto channel = all.begin(); channel != all.end(); channel += own) {
    channel += planes * shape.n.y * shape.n.x;
    values.insert(values.end(), channel, channel + own);
  }
  return values;
}

// Returns the part of the dense tensor `whole`, in memory at `data`, that lies behind so many planes.
TensorView view_behind(TensorView whole, std::byte* data, std::int64_t planes) {
  whole.shape.n.z -= planes;
  whole.data = reinterpret_cast<float*>(data + planes * whole.strides.z * element_bytes(whole.format.type));
  return whole;
}

class GpuRun {
 public:
  GpuRun(const LayerProblem& problem, const Estimate& estimate, CudaDevice& device)
      : problem_(problem), before_(planes_before(problem)), estimate_(estimate), device_(device) {}

  Result<void> prepare(const Primitive& primitive, const GpuCase& of) {
    if (Result<void> reserved = reserve(); !reserved) return reserved;
    Arena persistent(placements_);
    Result<std::unique_ptr<PreparedLayer>> layer =
        primitive.prepare(problem_, estimate_, of.weights.view(), persistent, device_);
    if (!layer) return layer.error();
    layer_ = std::move(*layer);
    if (!of.starts.empty()) layer_->place(of.starts, of.whole);
    return {};
  }

  Result<std::vector<float>> run(std::span<const std::vector<float>> inputs) {
    Result<void> poisoned = device_.fill(
        Stream::compute, {transient_.data(), static_cast<std::size_t>(transient_.bytes())}, std::byte{0xff});
    if (!poisoned) return poisoned.error();
    std::vector<TensorView> views;
    for (int i = 0; i < input_count(problem_); ++i) {
      const std::int64_t planes = i == 0 ? before_.in : 0;
      const Shape5 shape = input_shape(problem_, i);
      HostTensor tensor(behind(shape, planes), input_format(problem_, i, estimate_.in, estimate_.out));
      tensor.store(behind(inputs[static_cast<std::size_t>(i)], shape, planes));
      const TensorView view = tensor.view();
      std::byte* const to = planes > 0 ? streamed_in_.data() : find(input_name(i));
      const auto bytes = static_cast<std::size_t>(tensor_bytes(view.shape, view.format));
      Result<void> there = device_.write(to, {reinterpret_cast<const std::byte*>(view.data), bytes});
      if (!there) return there.error();
      views.push_back(view_behind(view, to, planes));
    }
    HostTensor out(behind(output_shape(problem_), before_.out), estimate_.out);
    std::byte* const from = before_.out > 0 ? streamed_out_.data() : find(output_name);
    Arena arena(placements_);
    Result<void> done = layer_->run(views, view_behind(out.view(), from, before_.out), arena);
    if (!done) return done.error();
    const auto bytes = static_cast<std::size_t>(tensor_bytes(out.view().shape, estimate_.out));
    if (Result<void> read = device_.read({reinterpret_cast<std::byte*>(out.view().data), bytes}, from); !read) {
      return read.error();
    }
    EXPECT_EQ(arena.high_water(MemorySpace::device), peak(estimate_.memory, MemorySpace::device));
    return without_planes(out.load(), output_shape(problem_), before_.out);
  }

 private:
  Result<void> reserve() {
    const Packing packing = pack(estimate_.memory, MemorySpace::device);
    Result<Reservation> transient = device_.reserve(MemorySpace::device, packing.bytes, "transient buffers");
    if (!transient) return transient.error();
    transient_ = std::move(*transient);
    if (before_ != PlanesBefore()) {
      if (Result<void> own = reserve_streamed(); !own) return own;
    }
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

  // Reserves tensors with the planes before, in place of the declared ones.
  Result<void> reserve_streamed() {
    for (const auto& [block, shape, format] :
         {std::tuple{&streamed_in_, behind(input_shape(problem_, 0), before_.in), estimate_.in},
          {&streamed_out_, behind(output_shape(problem_), before_.out), estimate_.out}}) {
      Result<Reservation> own = device_.reserve(MemorySpace::device, tensor_bytes(shape, format), "streamed tensor");
      if (!own) return own.error();
      *block = std::move(*own);
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
  PlanesBefore before_;
  Estimate estimate_;
  CudaDevice& device_;
  Reservation transient_;
  Reservation streamed_in_;
  Reservation streamed_out_;
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

Result<std::vector<float>> run_twice(const Primitive& primitive, const GpuCase& of, const Estimate& estimate,
                                     CudaDevice& device) {
  GpuRun run(of.problem, estimate, device);
  if (Result<void> prepared = run.prepare(primitive, of); !prepared) return prepared.error();
  Result<std::vector<float>> first = run.run(of.inputs);
  if (!first) return first;
  const Result<std::vector<float>> second = run.run(of.inputs);
  if (!second) return second.error();
  EXPECT_EQ(std::memcmp(first->data(), second->data(), first->size() * sizeof(float)), 0) << "a run changes the next";
  return first;
}

GpuCase make_case(const LayerProblem& problem, std::uint64_t seed) {
  test::Random random(seed);
  GpuCase made{problem, seed, test::random_weights(problem, random), test::random_inputs(problem, random), {}, 0,
               {},      {}};
  std::vector<oracle::Values> exact;
  for (const std::vector<float>& input : made.inputs) exact.push_back(oracle::widened(input));
  if (const auto* stack = std::get_if<StackProblem>(&problem); stack != nullptr && seed % 2 == 0) {
    const StackStarts placed = random_places(*stack, random);
    made.starts = placed.starts;
    made.whole = placed.whole;
    made.expected = oracle::stacked(*stack, exact[0], made.weights.view(), made.starts, made.whole);
  } else {
    made.expected = oracle::oracle_run(problem, exact, made.weights.view());
  }
  made.tolerance = oracle::tolerance(problem, exact, made.weights.view());
  return made;
}

void check_on_gpu(const Primitive& primitive, const GpuCase& of, CudaDevice& device) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(of.problem, device.spec());
  if (!estimates) return;
  for (const Estimate& estimate : *estimates) {
    const std::string name = test::name_of(primitive, of.problem, estimate, of.seed);
    SCOPED_TRACE(name);
    const Result<std::vector<float>> found = run_twice(primitive, of, estimate, device);
    if (!found) {
      ADD_FAILURE() << found.error().message;
      continue;
    }
    if (rounds_to_half(estimate)) {
      EXPECT_LE(distance(*found, of.expected), bf16_error);
    } else if (setting(estimate.variant, "tf32", 0) == 1) {
      EXPECT_LE(distance(*found, of.expected), tf32_error);
    } else {
      test::expect_close(*found, of.expected, of.tolerance, name);
    }
  }
}

}  // namespace znni::cuda
