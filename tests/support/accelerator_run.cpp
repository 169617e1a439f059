#include "tests/support/accelerator_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "primitives/core/precision.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni::test {
namespace {

constexpr std::array spaces = {MemorySpace::host, MemorySpace::pinned, MemorySpace::device};

std::size_t number(MemorySpace space) { return static_cast<std::size_t>(space); }

// Returns memory for the tensor, in whole floats.
std::vector<float> dense_floats(const Shape5& shape, Format format) {
  const std::int64_t bytes = tensor_bytes(shape, format);
  return std::vector<float>(static_cast<std::size_t>(div_up(bytes, std::int64_t{sizeof(float)})));
}

std::span<std::byte> bytes_of(std::vector<float>& laid_out, const Shape5& shape, Format format) {
  return std::as_writable_bytes(std::span(laid_out)).first(static_cast<std::size_t>(tensor_bytes(shape, format)));
}

}  // namespace

Result<std::unique_ptr<AcceleratorRun>> AcceleratorRun::make(const LayerProblem& problem, const Estimate& estimate,
                                                             Accelerator& accelerator, const Prepare& prepare,
                                                             const Arena::Poison& poison) {
  std::unique_ptr<AcceleratorRun> run(new AcceleratorRun(problem, estimate, accelerator));
  if (Result<void> reserved = run->reserve(); !reserved) return reserved.error();
  Arena persistent(run->placements_);
  Result<std::unique_ptr<PreparedLayer>> layer = prepare(persistent);
  if (!layer) return layer.error();
  run->layer_ = std::move(*layer);
  run->arena_ = std::make_unique<Arena>(run->placements_);
  if (poison) run->arena_->poison_with(poison);
  return run;
}

Result<std::byte*> AcceleratorRun::block(MemorySpace space, std::int64_t bytes) {
  if (space == MemorySpace::host) {
    host_blocks_.emplace_back(static_cast<std::size_t>(bytes + buffer_alignment), std::byte{0xff});
    void* start = host_blocks_.back().data();
    std::size_t room = host_blocks_.back().size();
    return static_cast<std::byte*>(std::align(buffer_alignment, static_cast<std::size_t>(bytes), start, room));
  }
  Result<Reservation> reserved = accelerator_.reserve(space, bytes, "test");
  if (!reserved) return reserved.error();
  blocks_.push_back(std::move(*reserved));
  return blocks_.back().data();
}

Result<void> AcceleratorRun::reserve() {
  std::array<Packing, 3> packings;
  std::array<std::byte*, 3> bases = {};
  for (const MemorySpace space : spaces) {
    packings[number(space)] = pack(estimate_.memory, space);
    Result<std::byte*> base = block(space, packings[number(space)].bytes);
    if (!base) return base.error();
    bases[number(space)] = *base;
  }
  for (std::size_t i = 0; i < estimate_.memory.size(); ++i) {
    const Buffer& buffer = estimate_.memory[i];
    Result<std::byte*> data =
        bases[number(buffer.space)] + std::max(packings[number(buffer.space)].offsets[i], std::int64_t{0});
    if (buffer.lifetime.persistent) data = block(buffer.space, buffer.bytes);
    if (!data) return data.error();
    placements_.push_back({buffer, *data});
  }
  return {};
}

const Placement& AcceleratorRun::placement(std::string_view name) const {
  const auto found = std::find_if(placements_.begin(), placements_.end(),
                                  [&](const Placement& candidate) { return candidate.buffer.name == name; });
  ensure(found != placements_.end(), "the estimate declares no buffer '" + std::string(name) + "'");
  return *found;
}

Result<void> AcceleratorRun::put(const std::vector<float>& planar, const Shape5& shape, Format format, int input) {
  const Placement& to = placement(input_name(input));
  if (to.buffer.space != MemorySpace::device) {
    store(planar, dense_view(reinterpret_cast<float*>(to.data), shape, format));
    return {};
  }
  std::vector<float> laid_out = dense_floats(shape, format);
  store(planar, dense_view(laid_out.data(), shape, format));
  return accelerator_.write(to.data, bytes_of(laid_out, shape, format));
}

Result<std::vector<float>> AcceleratorRun::run(std::span<const std::vector<float>> inputs) {
  std::vector<TensorView> views;
  for (int i = 0; i < input_count(problem_); ++i) {
    const Shape5 shape = input_shape(problem_, i);
    const Format format = input_format(problem_, i, estimate_.in, estimate_.out);
    Result<void> there = put(inputs[static_cast<std::size_t>(i)], shape, format, i);
    if (!there) return there.error();
    views.push_back(dense_view(reinterpret_cast<float*>(placement(input_name(i)).data), shape, format));
  }
  const Shape5 shape = output_shape(problem_);
  const Placement& out = placement(output_name);
  arena_->begin();
  Result<void> done = layer_->run(views, dense_view(reinterpret_cast<float*>(out.data), shape, estimate_.out), *arena_);
  if (!done) return done.error();
  std::vector<float> laid_out = dense_floats(shape, estimate_.out);
  const std::span<std::byte> bytes = bytes_of(laid_out, shape, estimate_.out);
  if (out.buffer.space != MemorySpace::device) {
    std::memcpy(bytes.data(), out.data, bytes.size());
  } else if (Result<void> read = accelerator_.read(bytes, out.data); !read) {
    return read.error();
  }
  return load(dense_view(laid_out.data(), shape, estimate_.out));
}

bool AcceleratorRun::held_what_was_declared() const {
  return std::all_of(spaces.begin(), spaces.end(),
                     [&](MemorySpace space) { return arena_->high_water(space) == peak(estimate_.memory, space); });
}

bool is_strict(const Estimate& estimate) {
  return precision_of(estimate.variant, estimate.in, estimate.out) == Precision::fp32;
}

void check_on_accelerator(const Primitive& primitive, const LayerProblem& problem, Accelerator& accelerator,
                          std::uint64_t seed, const Arena::Poison& poison) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, accelerator.spec());
  ASSERT_TRUE(estimates) << primitive.name << ", " << to_string(problem) << ": " << estimates.error().message;
  Random random(seed);
  const Weights weights = random_weights(problem, random);
  const std::vector<std::vector<float>> inputs = random_inputs(problem, random);
  std::vector<oracle::Values> exact;
  for (const std::vector<float>& input : inputs) exact.push_back(oracle::widened(input));
  const oracle::Values expected = oracle::oracle_run(problem, exact, weights.view());
  for (const Estimate& estimate : *estimates) {
    const Precision precision = precision_of(estimate.variant, estimate.in, estimate.out);
    const std::string name = name_of(primitive, problem, estimate, seed);
    Result<std::unique_ptr<AcceleratorRun>> run = AcceleratorRun::make(
        problem, estimate, accelerator,
        [&](Arena& persistent) {
          return primitive.prepare(problem, estimate, weights.view(), persistent, accelerator);
        },
        poison);
    ASSERT_TRUE(run) << name << ": " << run.error().message;
    const Result<std::vector<float>> first = (*run)->run(inputs);
    ASSERT_TRUE(first) << name << ": " << first.error().message;
    expect_close(*first, expected, oracle::tolerance(problem, exact, weights.view(), precision), name);
    EXPECT_TRUE((*run)->held_what_was_declared()) << name << ": memory held is not the memory declared";
    const Result<std::vector<float>> second = (*run)->run(inputs);
    ASSERT_TRUE(second) << name << ": " << second.error().message;
    EXPECT_TRUE(std::memcmp(first->data(), second->data(), first->size() * sizeof(float)) == 0)
        << name << ": a second run gave other bits";
  }
}

}  // namespace znni::test
