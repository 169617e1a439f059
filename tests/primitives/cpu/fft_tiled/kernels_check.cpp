#include "tests/primitives/cpu/fft_tiled/kernels_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "primitives/cpu/backend.hpp"
#include "tests/primitives/cpu/fft_tiled/plain_transform.hpp"
#include "tests/primitives/cpu/fft_tiled/random_tilings.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {
namespace {

constexpr float untouched = 12345.5F;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Calls check(column, ky, kx) for every column.
template <class Check>
void each_column(const Tiling& t, const Check& check) {
  for (std::int64_t kx = 0; kx <= t.T.x / 2; ++kx) {
    const bool real = kx == 0 || kx == t.T.x / 2;
    for (std::int64_t ky = 0; ky < (real ? t.T.y / 2 + 1 : t.T.y); ++ky) check(t.first_column(kx) + ky, ky, kx);
  }
}

// Appends re and im of one lane; the imaginary part lies behind all real ones.
void append(std::vector<double>& values, const float* at, std::int64_t lanes) {
  values.push_back(at[0]);
  values.push_back(at[lanes]);
}
void append(std::vector<double>& values, Wide value) {
  values.push_back(value.real());
  values.push_back(value.imag());
}

// A tensor whose gaps hold `around`.
struct Tensor {
  Tensor(const Shape5& shape, Format format, std::uint64_t seed, float around) {
    const test::Window window = test::strided_window(shape, format, seed);
    memory = floats(window.elements, around);
    view = window.view;
    view.data = memory.data() + window.before;
  }
  Floats memory;
  TensorView view;
};

// The plane's voxel v is that of the phase at v - border; around the input there are zeros.
std::vector<Wide> plane_of(const Tiling& t, const TensorView& in, const Stack& stack, std::int64_t z,
                           std::int64_t channel, Vec3 border) {
  std::vector<Wide> plane(static_cast<std::size_t>(t.T.y * t.T.x));
  for (std::int64_t i = 0; i < t.T.y * t.T.x && channel < in.shape.f; ++i) {
    const Vec3 voxel = (Vec3{z, stack.y + i / t.T.x, stack.x + i % t.T.x} - border) * t.phases.dilation + stack.phase;
    const bool is_inside = covers(voxel, {}) && covers(in.shape.n - Vec3::cube(1), voxel);
    if (is_inside) plane[static_cast<std::size_t>(i)] = in.at(stack.s, channel, voxel);
  }
  plain_transform(plane, {1, t.T.y, t.T.x}, 1, -1);
  plain_transform(plane, {1, t.T.y, t.T.x}, 2, -1);
  return plane;
}

// Returns where a channel lies, from a plane's first stack: in a block of its stack, or in a quad of a packed unit.
std::int64_t place_of(const Tiling& t, std::int64_t channels, std::int64_t stack, std::int64_t channel) {
  const std::int64_t own = split_channels(channels, t.lanes, t.packs).blocks * t.lanes;
  if (channel < own) return stack * t.stack_step() + channel / t.lanes * t.block_step() + channel % t.lanes;
  const std::int64_t unit = (channel - own) / unit_lanes;
  return t.units_offset() + stack / t.group() * t.group_step() + unit * t.block_step() +
         stack % t.group() * unit_lanes + channel % unit_lanes;
}

// Returns where the kernel of a pair of channels lies within those of one frequency.
std::int64_t kernel_place(const Tiling& t, const TileKernels& kernels, std::int64_t channel, std::int64_t j) {
  const std::int64_t own = t.out_blocks() * t.lanes;
  if (j < own) return block_index(t, j / t.lanes, kernels.gemm_vectors, channel) * t.block_step() + j % t.lanes;
  const std::int64_t block = (j - own) / unit_lanes * unit_kernels(t) + channel / unit_lanes;
  return t.problem.in.f * t.out_blocks() * t.block_step() + block * t.block_step() + channel % unit_lanes * unit_lanes +
         j % unit_lanes;
}

// Packs units in every other tiling, if the kernels can: batches have whole groups, or all stacks.
void maybe_pack(test::Random& random, const TileKernels& kernels, Tiling& t) {
  t.packs = kernels.packs && random.chance(0.5);
  if (t.packs) t.stacks_per_batch = std::min(round_up(random.integer(1, 9), t.group()), t.stacks());
}

// Returns the first stack of the last task.
std::int64_t last_task(const Tiling& t) {
  const std::int64_t last = t.stacks() - 1;
  return last - last % t.stacks_per_batch % t.group();
}

// Returns the number of stacks of a task that begins at stack `index`.
std::int64_t stacks_from(const Tiling& t, std::int64_t index, std::int64_t blocks) {
  const std::int64_t left = t.stacks_of(index / t.stacks_per_batch) - index % t.stacks_per_batch;
  return std::min(stacks_at_once(t, blocks), left);
}

void check_forward(const TileKernels& kernels, const Tiling& t, const TensorView& in, std::int64_t index,
                   std::int64_t z, Vec3 border) {
  const std::int64_t stacks = stacks_from(t, index, t.in_blocks());
  Floats spectra = floats(t.columns() * t.column_step(), untouched);
  Floats scratch = floats(forward_scratch(t), nan);
  float* const here = spectra.data() + z * t.plane_step() + index % t.stacks_per_batch * t.stack_step();
  kernels.forward({&t, &in, index, stacks, z, here, scratch.data(), border});
  std::vector<double> actual;
  std::vector<double> expected;
  for (std::int64_t i = 0; i < round_up(stacks, t.group()) * t.in_lanes(); ++i) {
    const std::int64_t stack = i / t.in_lanes();
    const std::int64_t lane = i % t.in_lanes();
    if (stack >= stacks && lane < t.in_blocks() * t.lanes) continue;  // packed units without a stack are zero
    const std::int64_t channel = stack < stacks ? lane : in.shape.f;
    const std::vector<Wide> plane = plane_of(t, in, stack_at(t, index + stack), z, channel, border);
    const std::int64_t place = place_of(t, t.problem.in.f, index % t.stacks_per_batch + stack, lane);
    each_column(t, [&](std::int64_t column, std::int64_t ky, std::int64_t kx) {
      float* at = spectra.data() + z * t.plane_step() + column * t.column_step() + place;
      append(actual, at, t.lanes);
      append(expected, plane[static_cast<std::size_t>(ky * t.T.x + kx)]);
      at[0] = at[t.lanes] = untouched;
    });
  }
  expect_alike(actual, expected);
  EXPECT_EQ(std::count(spectra.begin(), spectra.end(), untouched), static_cast<std::ptrdiff_t>(spectra.size()))
      << "spectra of other planes, stacks or blocks were written";
}

// Returns the spectrum of the taps of one pair of channels: conjugated, weighted and scaled.
std::vector<Wide> spectrum_of(const Tiling& t, const float* taps) {
  std::vector<Wide> volume(static_cast<std::size_t>(voxels(t.T)));
  for (std::int64_t z = 0; z < t.problem.k.z; ++z) {
    for (std::int64_t y = 0; y < t.problem.k.y; ++y) {
      for (std::int64_t x = 0; x < t.problem.k.x; ++x) {
        volume[static_cast<std::size_t>((z * t.T.y + y) * t.T.x + x)] = *taps++;
      }
    }
  }
  for (const int axis : {2, 1, 0}) plain_transform(volume, t.T, axis, -1);
  for (Wide& value : volume) value = std::conj(value) / static_cast<double>(voxels(t.T));
  return volume;
}

void check_spectra(const TileKernels& kernels, const Tiling& t, test::Random& random) {
  const ConvProblem& problem = t.problem;
  const std::vector<float> taps = random.normals(problem.f_out * problem.in.f * voxels(problem.k));
  Floats spectra = floats(t.columns() * kernel_column_floats(t), nan);
  Floats scratch = floats(spectra_scratch(t), nan);
  for (std::int64_t task = 0; task < spectra_tasks(t); ++task) {
    const KernelsOf of = spectra_task(t, task);
    kernels.spectra({&t, taps.data(), of.channel, of.block, spectra.data(), scratch.data()});
  }
  std::vector<double> actual;
  std::vector<double> expected;
  for (std::int64_t channel = 0; channel < problem.in.f; ++channel) {
    for (std::int64_t j = 0; j < t.out_lanes(); ++j) {
      std::vector<Wide> full(static_cast<std::size_t>(voxels(t.T)));
      if (j < problem.f_out) full = spectrum_of(t, taps.data() + (j * problem.in.f + channel) * voxels(problem.k));
      const std::int64_t place = kernel_place(t, kernels, channel, j);
      each_column(t, [&](std::int64_t column, std::int64_t ky, std::int64_t kx) {
        const auto weight = static_cast<double>(column_weight(t, column));
        for (std::int64_t kz = 0; kz < t.T.z; ++kz) {
          append(actual, spectra.data() + column * kernel_column_floats(t) + kz * kernel_frequency_floats(t) + place,
                 t.lanes);
          append(expected, weight * full[static_cast<std::size_t>((kz * t.T.y + ky) * t.T.x + kx)]);
        }
      });
    }
  }
  expect_alike(actual, expected);
}

// Returns output channel j of one tile of one stack along z, from the column before the task ran.
std::vector<Wide> product_of(const Tiling& t, const TileKernels& kernels, const std::vector<std::vector<Wide>>& in,
                             const Floats& weights, std::int64_t j) {
  std::vector<Wide> sum(static_cast<std::size_t>(t.T.z));
  for (std::int64_t channel = 0; channel < t.problem.in.f; ++channel) {
    const std::int64_t place = kernel_place(t, kernels, channel, j);
    for (std::int64_t kz = 0; kz < t.T.z; ++kz) {
      const float* w = weights.data() + kz * kernel_frequency_floats(t) + place;
      sum[static_cast<std::size_t>(kz)] +=
          in[static_cast<std::size_t>(channel)][static_cast<std::size_t>(kz)] * Wide{w[0], w[t.lanes]};
    }
  }
  plain_transform(sum, {t.T.z, 1, 1}, 0, 1);
  return sum;
}

void check_column(const TileKernels& kernels, const Tiling& t, std::int64_t stacks, Products products,
                  test::Random& random) {
  const std::vector<float> normals = random.normals(t.planes() * t.plane_step());
  const Floats before(normals.begin(), normals.end());
  const std::vector<float> more = random.normals(kernel_column_floats(t));
  const Floats weights(more.begin(), more.end());
  Floats column = before;
  Floats scratch = floats(column_scratch(t, kernels, products), nan);
  kernels.column({&t, stacks, column.data(), weights.data(), scratch.data(), products});
  std::vector<double> actual;
  std::vector<double> expected;
  const auto place = [&](std::int64_t plane, std::int64_t channels, std::int64_t stack, std::int64_t channel) {
    return plane * t.plane_step() + place_of(t, channels, stack, channel);
  };
  for (std::int64_t stack = 0; stack < stacks; ++stack) {
    for (std::int64_t tile = 0; tile < t.tiles().z; ++tile) {
      std::vector<std::vector<Wide>> in;
      for (std::int64_t channel = 0; channel < t.problem.in.f; ++channel) {
        std::vector<Wide>& line = in.emplace_back();
        for (std::int64_t z = 0; z < t.T.z; ++z) {
          const float* at = before.data() + place(tile * t.m().z + z, t.problem.in.f, stack, channel);
          line.emplace_back(at[0], at[t.lanes]);
        }
        plain_transform(line, {t.T.z, 1, 1}, 0, -1);
      }
      for (std::int64_t j = 0; j < t.out_lanes(); ++j) {
        const std::vector<Wide> line = product_of(t, kernels, in, weights, j);
        for (std::int64_t z = 0; z < t.m().z; ++z) {
          append(actual, column.data() + place(tile * t.m().z + z, t.problem.f_out, stack, j), t.lanes);
          append(expected, line[static_cast<std::size_t>(z)]);
        }
      }
    }
  }
  expect_alike(actual, expected);
  for (std::int64_t plane = 0; plane < t.planes(); ++plane) {
    const std::int64_t from = plane * t.plane_step() + stacks * t.stack_step();
    const std::int64_t end = plane * t.plane_step() + t.units_offset();
    EXPECT_TRUE(std::equal(column.begin() + from, column.begin() + end, before.begin() + from))
        << "stacks that are not of the batch were written";
  }
}

// Returns spectra of one plane and its stacks, with zeros in the padding lanes and NaNs around.
Floats random_spectra(const Tiling& t, std::int64_t z, std::int64_t first, std::int64_t stacks, test::Random& random) {
  Floats spectra = floats(t.columns() * t.column_step(), nan);
  for (std::int64_t column = 0; column < t.columns(); ++column) {
    for (std::int64_t i = 0; i < round_up(stacks, t.group()) * t.out_lanes(); ++i) {
      const std::int64_t j = i % t.out_lanes();
      const std::int64_t stack = i / t.out_lanes();
      if (stack >= stacks && j < t.out_blocks() * t.lanes) continue;
      float* at = spectra.data() + z * t.plane_step() + column * t.column_step() +
                  place_of(t, t.problem.f_out, first + stack, j);
      at[0] = j < t.problem.f_out ? random.normal() : 0.0F;
      at[t.lanes] = j < t.problem.f_out ? random.normal() : 0.0F;
    }
  }
  return spectra;
}

// Returns one channel of the plane before bias and activation: the sum of the columns' waves.
std::vector<Wide> voxels_of(const Tiling& t, const float* spectra) {
  std::vector<Wide> plane(static_cast<std::size_t>(t.T.y * t.T.x));
  each_column(t, [&](std::int64_t column, std::int64_t ky, std::int64_t kx) {
    const float* at = spectra + column * t.column_step();
    plane[static_cast<std::size_t>(ky * t.T.x + kx)] = {at[0], at[t.lanes]};
  });
  plain_transform(plane, {1, t.T.y, t.T.x}, 2, 1);
  plain_transform(plane, {1, t.T.y, t.T.x}, 1, 1);
  return plane;
}

void check_inverse(const TileKernels& kernels, const Tiling& t, const Shape5& shape, Format format, std::int64_t index,
                   std::int64_t z, test::Random& random) {
  Tensor out(shape, format, static_cast<std::uint64_t>(random.integer(1, 1000)), untouched);
  if (random.chance(0.5)) {
    out.memory = floats(tensor_bytes(shape, format) / 4, untouched);
    out.view = dense_view(out.memory.data(), shape, format);
  }
  const std::int64_t stacks = stacks_from(t, index, t.out_blocks());
  const std::int64_t offset = z * t.plane_step() + index % t.stacks_per_batch * t.stack_step();
  const Floats spectra = random_spectra(t, z, index % t.stacks_per_batch, stacks, random);
  Floats bias = floats(bias_floats(t), 0.0F);
  for (std::int64_t j = 0; j < t.problem.f_out; ++j) bias[static_cast<std::size_t>(j)] = 5 * random.normal();
  Floats scratch = floats(inverse_scratch(t), nan);
  Tensor residual(shape, format, static_cast<std::uint64_t>(random.integer(1, 1000)), nan);
  test::store(random.normals(elements(shape), 3.0F), residual.view);
  const TensorView* const added = t.problem.residual ? &residual.view : nullptr;
  kernels.inverse({&t, &out.view, added, bias.data(), index, stacks, z, spectra.data() + offset, scratch.data()});
  std::vector<double> actual;
  std::vector<double> expected;
  double scale = 0;  // of the activation's arguments, from which the rounding comes
  const std::int64_t channels = format.layout == Layout::planar ? shape.f : bias_floats(t);
  for (std::int64_t i = 0; i < stacks * channels; ++i) {
    const Stack stack = stack_at(t, index + i / channels);
    const std::int64_t j = i % channels;
    const std::int64_t place = place_of(t, t.problem.f_out, index % t.stacks_per_batch + i / channels, j);
    std::vector<Wide> plane(static_cast<std::size_t>(t.T.y * t.T.x));
    if (j < t.out_lanes()) plane = voxels_of(t, spectra.data() + z * t.plane_step() + place);
    for (std::int64_t y = 0; y < t.m().y; ++y) {
      for (std::int64_t x = 0; x < t.m().x; ++x) {
        const Vec3 voxel = Vec3{z, stack.y + y, stack.x + x} * t.phases.dilation + stack.phase;
        if (!covers(shape.n, voxel + Vec3::cube(1))) continue;
        float& at = out.view.at(stack.s, j, voxel);
        double sum = plane[static_cast<std::size_t>(y * t.T.x + x)].real() + bias[static_cast<std::size_t>(j)];
        if (added != nullptr && j < shape.f) sum += added->at(stack.s, j, voxel);
        scale = std::max(scale, std::abs(sum));
        actual.push_back(at);
        expected.push_back(j < shape.f ? apply(t.problem.activation, static_cast<float>(sum)) : 0.0);
        if (j >= shape.f) {
          EXPECT_EQ(at, 0.0F) << "padding channel " << j;
        }
        at = untouched;
      }
    }
  }
  expect_alike(actual, expected, scale);
  EXPECT_EQ(std::count(out.memory.begin(), out.memory.end(), untouched), static_cast<std::ptrdiff_t>(out.memory.size()))
      << "voxels outside of the tile or the output were written";
}

// Calls check(T, random) so that every extent occurs along every axis.
template <class Check>
void each_extent(const Check& check) {
  for (std::size_t index = 0; index < tile_extents().size(); ++index) {
    const std::uint64_t seed = test::base_seed() * 1000 + index;
    const Vec3 T = extents_of(index);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", T " + to_string(T));
    test::Random random(seed);
    check(T, random);
  }
}

}  // namespace

void KernelsCheck::SetUp() {
  const int lanes = describe_cpu(1).simd_floats;
  if (lanes < GetParam()) {
    GTEST_SKIP() << "this processor has vectors of " << lanes << " floats, not of " << GetParam();
  }
  kernels_ = tile_kernels(GetParam());
  ASSERT_NE(kernels_, nullptr);
}

// Every other input stands in the middle of zeros that the tiling counts as its own.
TEST_P(KernelsCheck, ForwardTasksAgreeWithPlainTransforms) {
  each_extent([this](Vec3 T, test::Random& random) {
    Tiling t = random_tiling(random, *kernels_, {6, T.y, T.x});
    t.problem.in.f = random_channels(random, t, T.y * T.x * 2);
    const Format format = random_format(random, t, t.problem.in.f);
    const ConvProblem layer = random_layer_of(random, t);
    maybe_pack(random, *kernels_, t);
    const Vec3 most = min(t.problem.k - Vec3::cube(1), (t.problem.in.n - Vec3::cube(1)) / Vec3::cube(2));
    const bool has_border = random.chance(0.5) && layer.dilation == Vec3::cube(1);
    const Vec3 border = has_border ? most : Vec3{};
    Shape5 inside = layer.in;
    inside.n = inside.n - border - border;
    SCOPED_TRACE(to_string(LayerProblem(layer)) + ", " + to_string(format) + ", border " + to_string(border));
    Tensor in(inside, format, static_cast<std::uint64_t>(random.integer(1, 1000)), nan);
    test::store(random.normals(elements(inside)), in.view);
    const std::int64_t last = last_task(t);
    check_forward(*kernels_, t, in.view, 0, 0, border);
    check_forward(*kernels_, t, in.view, 0, border.z, border);
    // The last stack may end beyond the input. Its last plane of the input; one of the border, where there is one.
    check_forward(*kernels_, t, in.view, last, t.problem.in.n.z - 1 - border.z, border);
    check_forward(*kernels_, t, in.view, last, t.problem.in.n.z - 1, border);
    if (t.planes() == t.problem.in.n.z) return;
    check_forward(*kernels_, t, in.view, t.packs ? 0 : random.integer(0, last), t.planes() - 1, border);
  });
}

TEST_P(KernelsCheck, KernelSpectraAgreeWithPlainTransforms) {
  each_extent([this](Vec3 T, test::Random& random) {
    if (random.chance(0.15)) T.z = 1;
    Tiling t = random_tiling(random, *kernels_, T);
    t.problem.in.f = random.integer(1, 2);
    t.problem.f_out = random_channels(random, t, voxels(T) / 2);
    maybe_pack(random, *kernels_, t);
    if (t.packs) t.problem.in.f = random.integer(1, 6);
    SCOPED_TRACE(to_string(LayerProblem(t.problem)));
    check_spectra(*kernels_, t, random);
  });
}

TEST_P(KernelsCheck, ColumnsAgreeWithPlainTransforms) {
  std::vector<std::int64_t> extents = tile_extents();
  extents.push_back(1);
  for (const std::int64_t extent : extents) {
    const std::uint64_t seed = test::base_seed() * 1000 + static_cast<std::uint64_t>(extent);
    test::Random random(seed);
    Tiling t = random_tiling(random, *kernels_, {extent, 4, 4});
    t.problem.in.f = random.integer(1, 3 * t.lanes);
    t.problem.f_out = random.integer(1, 7 * t.lanes);
    maybe_pack(random, *kernels_, t);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", T.z " + std::to_string(extent) + ": " +
                 to_string(LayerProblem(t.problem)) + ", stacks " + std::to_string(t.stacks_per_batch));
    for (const Products products : {Products::three, Products::four}) {
      if (t.packs && products == Products::four) continue;
      SCOPED_TRACE(products == Products::three ? "three products" : "four products");
      check_column(*kernels_, t, random.integer(1, t.stacks_per_batch), products, random);
    }
  }
}

TEST_P(KernelsCheck, InverseTasksAgreeWithPlainTransforms) {
  int index = 0;
  each_extent([&](Vec3 T, test::Random& random) {
    Tiling t = random_tiling(random, *kernels_, {6, T.y, T.x});
    t.problem.f_out = random_channels(random, t, T.y * T.x * 2);
    t.problem.activation = {static_cast<ActivationKind>(index++ % 13), 0.2F};
    t.problem.residual = random.chance(0.5);
    const Format format = random_format(random, t, t.problem.f_out);
    const ConvProblem layer = random_layer_of(random, t);
    maybe_pack(random, *kernels_, t);
    SCOPED_TRACE(to_string(LayerProblem(layer)) + ", " + to_string(format) + (t.packs ? ", packed" : ""));
    check_inverse(*kernels_, t, output_shape(layer), format, 0, 0, random);
    check_inverse(*kernels_, t, output_shape(layer), format, last_task(t), t.n_out().z - 1, random);
  });
}

}  // namespace znni::cpu::fft_tiled
