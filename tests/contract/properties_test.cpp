// Properties of any convolution that do not need its result. It is linear, an impulse returns the kernel, and a shifted
// input gives a shifted output. Parts add up to the whole or stand beside each other in it.
#include <gtest/gtest.h>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::test {
namespace {

using Floats = std::vector<float>;

Floats part(const Floats& values, std::int64_t first, std::int64_t count) {
  return {values.begin() + first, values.begin() + first + count};
}

// One convolution by one primitive and variant, and its tolerance.
class Convolution {
 public:
  Convolution(const Primitive& primitive, const Estimate& estimate, Device& device)
      : primitive_(primitive), chosen_(estimate), device_(device) {}

  // Runs the convolution as a linear one: without bias and activation.
  Floats operator()(const ConvProblem& conv, const Floats& in, const Floats& kernels) {
    const LayerWeights weights{kernels, {}, {}, {}};
    const Result<std::vector<Estimate>> estimates = primitive_.describe(conv, device_.spec());
    if (!estimates) {
      ADD_FAILURE() << estimates.error().message;
      return Floats(static_cast<std::size_t>(elements(output_shape(conv))));
    }
    const std::vector<oracle::Values> exact = {oracle::widened(in)};
    tolerance += oracle::tolerance(conv, exact, weights, precision_of(chosen_));
    const std::vector<Floats> inputs = {in};
    return run_once(primitive_, conv, same_choice(*estimates), weights, inputs, device_).values;
  }

  double tolerance = 0.0;  // sum over all runs so far

 private:
  // Returns the estimate with the same variant and formats for another problem, or its first estimate if there is none.
  const Estimate& same_choice(const std::vector<Estimate>& estimates) const {
    for (const Estimate& estimate : estimates) {
      if (estimate.variant == chosen_.variant && estimate.in == chosen_.in && estimate.out == chosen_.out) {
        return estimate;
      }
    }
    return estimates.front();
  }

  const Primitive& primitive_;
  const Estimate& chosen_;
  Device& device_;
};

struct Example {
  ConvProblem conv;
  Floats in;
  Floats kernels;
};

// Calls body(convolution, example, random) for every estimate of every primitive for some random problems.
template <class Body>
void for_each_convolution(const Body& body) {
  const std::unique_ptr<Device> device = open_cpu(2);
  for (int i = 0; i < case_count(8); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    Example example{random_conv(random, 4e6), {}, {}};
    example.conv.activation = {};
    example.conv.residual = false;
    example.in = random.normals(elements(example.conv.in));
    example.kernels = random_weights(example.conv, random).kernels;
    for (const Primitive* primitive : cpu::registry()) {
      const Result<std::vector<Estimate>> estimates = primitive->describe(example.conv, device->spec());
      if (!estimates) continue;
      for (const Estimate& estimate : *estimates) {
        SCOPED_TRACE(name_of(*primitive, example.conv, estimate, seed));
        body(Convolution(*primitive, estimate, *device), example, random);
      }
    }
  }
}

// Returns a x + b y in float64.
oracle::Values combined(double a, const Floats& x, double b, const Floats& y) {
  oracle::Values sum(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] = a * x[i] + b * y[i];
  return sum;
}

Floats narrowed(const oracle::Values& values) { return {values.begin(), values.end()}; }

TEST(ContractProperties, LinearInTheInput) {
  for_each_convolution([](Convolution run, const Example& example, Random& random) {
    const Floats other = random.normals(elements(example.conv.in));
    const Floats mixed = narrowed(combined(2.0, example.in, -0.5, other));
    const Floats whole = run(example.conv, mixed, example.kernels);
    const oracle::Values parts =
        combined(2.0, run(example.conv, example.in, example.kernels), -0.5, run(example.conv, other, example.kernels));
    expect_close(whole, parts, 2.0 * run.tolerance, "linear in the input");
  });
}

TEST(ContractProperties, LinearInTheKernels) {
  for_each_convolution([](Convolution run, const Example& example, Random& random) {
    const Floats other = random.normals(static_cast<std::int64_t>(example.kernels.size()), 0.1F);
    const Floats mixed = narrowed(combined(0.25, example.kernels, 3.0, other));
    const Floats whole = run(example.conv, example.in, mixed);
    const oracle::Values parts =
        combined(0.25, run(example.conv, example.in, example.kernels), 3.0, run(example.conv, example.in, other));
    expect_close(whole, parts, 3.0 * run.tolerance, "linear in the kernels");
  });
}

// An input with a single 1 at the last voxel that the first output voxel reads gives the reversed kernel.
TEST(ContractProperties, AnImpulseReturnsTheKernel) {
  for_each_convolution([](Convolution run, const Example& example, Random&) {
    ConvProblem conv = example.conv;
    conv.in.n = dilated(conv.k, conv.dilation) + dilated(conv.k, conv.dilation) - Vec3::cube(1);
    const Vec3 middle = dilated(conv.k, conv.dilation) - Vec3::cube(1);
    Floats in(static_cast<std::size_t>(elements(conv.in)), 0.0F);
    in[static_cast<std::size_t>((middle.z * conv.in.n.y + middle.y) * conv.in.n.x + middle.x)] = 1.0F;
    const Floats out = run(conv, in, example.kernels);
    const Vec3 n_out = output_shape(conv).n;
    for (std::int64_t j = 0; j < conv.f_out; ++j) {
      for (std::int64_t d = 0; d < voxels(conv.k); ++d) {
        const Vec3 position{d / (conv.k.y * conv.k.x), d / conv.k.x % conv.k.y, d % conv.k.x};
        const Vec3 v = middle - conv.dilation * position;
        const std::int64_t at = ((j * n_out.z + v.z) * n_out.y + v.y) * n_out.x + v.x;
        const float weight = example.kernels[static_cast<std::size_t>(j * conv.in.f * voxels(conv.k) + d)];
        EXPECT_NEAR(out[static_cast<std::size_t>(at)], weight, run.tolerance) << "channel " << j << ", position " << d;
      }
    }
  });
}

TEST(ContractProperties, PartsOfTheInputChannelsAddUp) {
  for_each_convolution([](Convolution run, const Example& example, Random&) {
    ConvProblem conv = example.conv;
    if (conv.in.f < 2) return;
    conv.in.S = 1;
    const Floats in = part(example.in, 0, elements(conv.in));
    const Floats whole = run(conv, in, example.kernels);
    const std::int64_t terms = voxels(conv.k);
    const std::int64_t half = conv.in.f / 2;
    oracle::Values sum(whole.size(), 0.0);
    for (const auto& [first, count] : {std::pair{std::int64_t{0}, half}, std::pair{half, conv.in.f - half}}) {
      ConvProblem one = conv;
      one.in.f = count;
      Floats kernels;
      for (std::int64_t j = 0; j < conv.f_out; ++j) {
        const Floats row = part(example.kernels, (j * conv.in.f + first) * terms, count * terms);
        kernels.insert(kernels.end(), row.begin(), row.end());
      }
      const Floats out = run(one, part(in, first * voxels(conv.in.n), elements(one.in)), kernels);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += out[i];
    }
    expect_close(whole, sum, run.tolerance, "parts of f");
  });
}

TEST(ContractProperties, PartsOfTheBatchAndOfTheOutputChannelsStandBesideEachOther) {
  for_each_convolution([](Convolution run, const Example& example, Random&) {
    const ConvProblem& conv = example.conv;
    const Floats whole = run(conv, example.in, example.kernels);
    ConvProblem one = conv;
    one.in.S = 1;
    one.f_out = 1;
    const std::int64_t count = elements(output_shape(one));
    const std::int64_t terms = conv.in.f * voxels(conv.k);
    const std::int64_t s = conv.in.S - 1;
    const std::int64_t j = conv.f_out - 1;
    const Floats out =
        run(one, part(example.in, s * elements(one.in), elements(one.in)), part(example.kernels, j * terms, terms));
    const Floats expected = part(whole, (s * conv.f_out + j) * count, count);
    expect_close(out, oracle::widened(expected), run.tolerance, "parts of S and f_out");
  });
}

// Slabs of z: the input shifted by one plane gives the output shifted by one plane.
TEST(ContractProperties, AShiftedInputGivesAShiftedOutput) {
  for_each_convolution([](Convolution run, const Example& example, Random& random) {
    ConvProblem conv = example.conv;
    conv.in.S = 1;
    conv.in.f = 1;
    conv.f_out = 1;
    conv.in.n.z += 1;
    const Floats kernels = part(example.kernels, 0, voxels(conv.k));
    const Floats in = random.normals(elements(conv.in));
    const Floats whole = run(conv, in, kernels);
    const std::int64_t plane = conv.in.n.y * conv.in.n.x;
    const std::int64_t plane_out = output_shape(conv).n.y * output_shape(conv).n.x;
    ConvProblem slab = conv;
    slab.in.n.z -= 1;
    const Floats out = run(slab, part(in, plane, elements(slab.in)), kernels);
    const Floats expected = part(whole, plane_out, elements(output_shape(slab)));
    expect_close(out, oracle::widened(expected), run.tolerance, "shift along z");
  });
}

}  // namespace
}  // namespace znni::test
