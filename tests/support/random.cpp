#include "tests/support/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace znni::test {
namespace {

std::int64_t environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

Shape5 random_shape(Random& random, std::int64_t max_f, std::int64_t max_n) {
  const std::int64_t S = random.integer(1, 3);
  const std::int64_t f = random.integer(1, max_f);
  return {S, f, random.vec3(1, max_n)};
}

CropProblem random_crop(Random& random, const Shape5& out) {
  CropProblem crop{out, random.vec3(0, 3), random.vec3(0, 3)};
  crop.in.n = out.n + crop.begin + crop.end;
  return crop;
}

}  // namespace

std::uint64_t base_seed() { return static_cast<std::uint64_t>(environment("ZNNI_TEST_SEED", 1)); }

int case_count(int otherwise) {
  const std::int64_t share = otherwise / std::max<std::int64_t>(environment("ZNNI_TEST_CASES_DIVISOR", 1), 1);
  return static_cast<int>(environment("ZNNI_TEST_CASES", std::max<std::int64_t>(share, 1)));
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
}

bool Random::chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }

float Random::normal() { return std::normal_distribution<float>()(engine_); }

std::vector<float> Random::normals(std::int64_t count, float deviation) {
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = distribution(engine_);
  return values;
}

Weights random_weights(const LayerProblem& problem, Random& random) {
  Weights weights;
  if (const ConvProblem* conv = convolution_of(problem)) {
    const std::int64_t terms = terms_of(*conv);
    weights.kernels = random.normals(conv->f_out * terms, std::sqrt(2.0F / static_cast<float>(terms)));
    if (!random.chance(0.125)) weights.bias = random.normals(conv->f_out, 0.1F);
  }
  if (has_scale(problem)) {
    const auto* stack = std::get_if<StackProblem>(&problem);
    const std::int64_t count = (stack == nullptr ? 1 : scaled_stages(*stack)) * input_shape(problem, 0).f;
    weights.scale = random.normals(count);
    weights.shift = random.normals(count);
  }
  if (std::holds_alternative<AddVolumeProblem>(problem)) {
    weights.shift = random.normals(elements(input_shape(problem, 0)));
  }
  return weights;
}

std::vector<std::vector<float>> random_inputs(const LayerProblem& problem, Random& random) {
  std::vector<std::vector<float>> inputs;
  for (int index = 0; index < input_count(problem); ++index) {
    inputs.push_back(random.normals(elements(input_shape(problem, index))));
  }
  return inputs;
}

std::vector<std::vector<float>> random_trained_inputs(const LayerProblem& problem, Random& random) {
  std::vector<std::vector<float>> inputs = random_inputs(problem, random);
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool != nullptr && pool->kind == PoolKind::average_inside) inputs.front() = random_framed(pool->in, random);
  if (!std::holds_alternative<DivideProblem>(problem)) return inputs;
  for (float& divisor : inputs.back()) divisor += std::copysign(0.5F, divisor);
  return inputs;
}

std::vector<float> random_framed(const Shape5& shape, Random& random) {
  std::vector<float> values = random.normals(elements(shape));
  const Vec3 n = shape.n;
  const Vec3 first = min(random.vec3(0, 3), n);
  const Vec3 last = n - random.vec3(0, 3);
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    const Vec3 at{i / (n.y * n.x) % n.z, i / n.x % n.y, i % n.x};
    if (covers(at, first) && covers(last, at + Vec3::cube(1))) continue;
    values[static_cast<std::size_t>(i)] = -std::numeric_limits<float>::infinity();
  }
  return values;
}

Activation random_activation(Random& random) {
  const auto kind = static_cast<ActivationKind>(random.integer(0, static_cast<int>(last_activation_kind)));
  static constexpr std::array<float, 4> alphas = {0.01F, 0.1F, 1.0F, 1.5F};
  // A cap leaves most of the values, because errors are compared with the largest that are left.
  const float least = kind == ActivationKind::capped_relu ? 4.0F : 0.0F;
  return {kind, least + alphas[static_cast<std::size_t>(random.integer(0, 3))]};
}

ConvProblem random_conv(Random& random, double max_flops) {
  while (true) {
    ConvProblem conv;
    conv.k = random.vec3(1, 7);
    if (random.chance(0.3)) conv.k = Vec3::cube(random.integer(1, 3));
    if (random.chance(0.1)) conv.k.z = 1;
    conv.dilation = random.chance(0.3) ? random.vec3(1, 3) : Vec3::cube(1);
    const Vec3 window = dilated(conv.k, conv.dilation);
    conv.in.n = window + random.vec3(0, 12);
    if (random.chance(0.2)) conv.in.n.x += random.integer(16, 70);
    if (random.chance(0.1)) conv.in.n = window;
    conv.in.S = random.integer(1, 3);
    conv.in.f = random.chance(0.2) ? 16 * random.integer(1, 2) : random.integer(1, 20);
    conv.f_out = random.chance(0.2) ? 16 * random.integer(1, 3) : random.integer(1, 36);
    conv.activation = random_activation(random);
    conv.residual = random.chance(0.3);
    if (direct_flops(conv) <= max_flops && elements(conv.in) <= (1 << 19)) return conv;
  }
}

ConvProblem random_strided_conv(Random& random, double max_flops) {
  ConvProblem conv = random_conv(random, max_flops);
  while (conv.stride == Vec3::cube(1)) conv.stride = random.vec3(1, 3);
  return conv;
}

ConvProblem random_grouped_conv(Random& random, double max_flops) {
  ConvProblem conv = random.chance(0.3) ? random_strided_conv(random, max_flops) : random_conv(random, max_flops);
  conv.groups = random.integer(2, 20);
  const std::int64_t most = random.chance(0.5) ? 1 : 3;
  conv.in.f = conv.groups * random.integer(1, most);
  conv.f_out = conv.groups * (random.chance(0.2) ? random.integer(5, 17) : random.integer(1, most));
  return conv;
}

PoolProblem random_pool(Random& random, PoolMode mode) {
  PoolProblem pool;
  pool.kind = random.chance(0.5) ? PoolKind::max : PoolKind::average;
  pool.mode = mode;
  pool.stride = random.vec3(1, 3);
  pool.window = random.chance(0.6) ? pool.stride : random.vec3(1, 4);
  if (random.chance(0.5)) pool.fragments = random.vec3(1, 3);
  if (mode == PoolMode::fragments && random.chance(0.5)) {
    for (int axis = 0; axis < 3; ++axis) {
      if (random.chance(0.5)) pool.groups[axis] = pool.stride[axis];
    }
  }
  if (mode == PoolMode::fragments) {
    pool.in.n = random.vec3(1, 6) * pool.stride + pool.window - Vec3::cube(1);
    if (random.chance(0.5)) pool.in.n = pool.in.n - pool.stride + pooled_offsets(pool);
  } else {
    pool.in.n = pool.window + random.vec3(0, 20);
  }
  pool.in.S = random.integer(1, 2) * voxels(pool.fragments);
  pool.in.f = random.chance(0.3) ? 16 : random.integer(1, 20);
  return pool;
}

PoolKind any_pool_kind(Random& random) {
  if (random.chance(0.6)) return PoolKind::max;
  return random.chance(0.5) ? PoolKind::average : PoolKind::average_inside;
}

PoolProblem random_dilated_pool(Random& random, PoolMode mode) {
  PoolProblem pool = random_pool(random, mode);
  const Vec3 window = pool.window;
  pool.dilation = random.vec3(1, 3);
  pool.in.n = pool.in.n + spanned(pool) - window;
  return pool;
}

ConvPoolProblem random_conv_pool(Random& random, std::int64_t max_f, double max_flops) {
  while (true) {
    ConvPoolProblem both;
    both.pool = random_pool(random, random.chance(0.8) ? PoolMode::fragments : PoolMode::plain);
    both.pool.in.f = random.integer(1, 36);
    ConvProblem& conv = both.conv;
    conv.k = random.vec3(1, 5);
    if (random.chance(0.2)) conv.dilation = random.vec3(1, 2);
    conv.f_out = both.pool.in.f;
    conv.in = {both.pool.in.S, random.integer(1, max_f),
               both.pool.in.n + dilated(conv.k, conv.dilation) - Vec3::cube(1)};
    conv.activation = random_activation(random);
    if (both.pool.in.S <= 8 && direct_flops(both) <= max_flops) return both;
  }
}

ConvPoolProblem random_conv_pool_of_pairs(Random& random, std::int64_t max_f, double max_flops) {
  while (true) {
    ConvPoolProblem both;
    PoolProblem& pool = both.pool;
    pool.window = pool.stride = {random.integer(1, 2), 2, 2};
    pool.mode = random.chance(0.8) ? PoolMode::fragments : PoolMode::plain;
    if (random.chance(0.4)) pool.fragments = random.vec3(1, 2);
    for (int axis = 0; axis < 3 && pool.mode == PoolMode::fragments; ++axis) {
      if (random.chance(0.4)) pool.groups[axis] = pool.stride[axis];
    }
    pool.in.n = random.vec3(1, 6) * pool.stride + pooled_offsets(pool) - Vec3::cube(1);
    if (pool.mode == PoolMode::plain && random.chance(0.5)) pool.in.n = pool.in.n + pool.stride - Vec3::cube(1);
    pool.in.S = random.integer(1, 2) * voxels(pool.fragments);
    pool.in.f = both.conv.f_out = random.integer(1, 36);
    both.conv.k = random.vec3(1, 8);
    both.conv.in = {pool.in.S, random.integer(1, max_f), pool.in.n + both.conv.k - Vec3::cube(1)};
    both.conv.activation = random_activation(random);
    if (direct_flops(both) <= max_flops) return both;
  }
}

LayerProblem random_elementwise(Random& random) {
  const Shape5 shape = random_shape(random, 35, 12);
  switch (random.integer(0, 8)) {
    case 0: return ActivationProblem{shape, random_activation(random)};
    case 1: return AcrossChannelsProblem{shape};
    case 2: return ScaleShiftProblem{shape};
    case 3: return AddProblem{shape, static_cast<int>(random.integer(2, 4)), random_activation(random)};
    case 4: return random_crop(random, shape);
    case 5: return MultiplyProblem{shape, random.chance(0.5) ? shape.f : 1};
    case 6: return PReluProblem{shape};
    case 7: return DivideProblem{shape, random.chance(0.5) ? shape.f : 1};
    default: break;
  }
  ConcatProblem concat;
  const bool whole_blocks = random.chance(0.5);
  for (std::int64_t input = random.integer(1, 4); input > 0; --input) {
    concat.in.push_back(
        {shape.S, whole_blocks && input > 1 ? 16 * random.integer(1, 2) : random.integer(1, 20), shape.n});
  }
  return concat;
}

NormProblem random_norm(Random& random) {
  const std::int64_t groups = random.integer(1, 6);
  NormProblem norm{random_shape(random, 8, 9), groups};
  norm.in.f *= random.chance(0.5) ? groups : 1;
  if (norm.in.f % groups != 0) norm.groups = random.chance(0.5) ? norm.in.f : 1;
  if (random.chance(0.3)) norm.epsilon = 1e-3F;
  norm.activation = random_activation(random);
  if (random.chance(0.3)) norm.kind = NormKind::response;
  return norm;
}

AcrossChannelsProblem random_across(Random& random) {
  return {random_shape(random, 35, 12), static_cast<AcrossKind>(random.integer(1, 5)), 0.01F};
}

AttentionProblem random_attention(Random& random) {
  const std::int64_t heads = random.integer(1, 3);
  const Shape5 in{random.integer(1, 2), heads * random.integer(1, 9), random.vec3(1, 6)};
  return {in, heads * random.integer(1, 9), heads, random.chance(0.5) ? 1.0F : 0.25F};
}

AddVolumeProblem random_add_volume(Random& random) {
  const Shape5 in = random_shape(random, 9, 9);
  return {in, in.n};
}

StackStage random_pool_stage(Random& random) {
  StackStage stage{StackOperation::pool, random.chance(0.7) ? PoolKind::max : PoolKind::average, random.vec3(1, 4)};
  if (random.chance(0.4)) stage.window = Vec3::cube(random.integer(2, 3));
  if (random.chance(0.2)) return stage;
  for (int axis = 0; axis < 3; ++axis) {
    stage.before[axis] = random.integer(0, stage.window[axis] - 1);
    stage.behind[axis] = random.integer(0, stage.window[axis] - 1);
  }
  return stage;
}

StackProblem random_stack(Random& random) {
  StackProblem stack{random_shape(random, 20, 9), {}, random.vec3(0, 1)};
  if (random.chance(0.4)) stack.closed = Vec3::cube(random.integer(0, 1));
  for (std::int64_t stages = random.integer(1, 12); stages > 0; --stages) {
    const std::int64_t kind = random.integer(0, 3);
    StackStage stage{kind == 2 ? StackOperation::scale_shift : StackOperation::activation};
    if (kind == 3) {
      stage.activation = random_activation(random);
      if (stage.activation.kind == ActivationKind::none) stage.activation = {ActivationKind::relu};
    }
    stack.stages.push_back(kind < 2 ? random_pool_stage(random) : stage);
  }
  while (!check(stack)) stack.in.n = stack.in.n + Vec3::cube(1);
  return stack;
}

GlobalPoolProblem random_global_pool(Random& random) {
  return {random_shape(random, 35, 9), random.chance(0.3) ? PoolKind::max : PoolKind::average};
}

UpsampleProblem random_upsample(Random& random) {
  UpsampleProblem upsample{random_shape(random, 35, 9), random.vec3(1, 3), UpsampleKind::nearest};
  if (random.chance(0.3)) upsample.in.f = 8 * random.integer(1, 4);
  if (random.chance(0.4)) return upsample;
  upsample.kind = UpsampleKind::shuffle;
  upsample.in.f *= voxels(upsample.factor);
  return upsample;
}

UpsampleProblem random_linear_upsample(Random& random) {
  UpsampleProblem upsample{random_shape(random, 35, 9), random.vec3(1, 3), UpsampleKind::linear};
  upsample.in.n = max(upsample.in.n, upsampling_window(upsample.kind, upsample.factor));
  return upsample;
}

UpsampleProblem random_aligned_upsample(Random& random) {
  return {random_shape(random, 35, 9), random.vec3(1, 3), UpsampleKind::aligned};
}

ReorderProblem random_reorder(Random& random, std::int64_t width) {
  const Format planar;
  const Format blocked{ElementType::f32, width == 16 ? Layout::blocked16 : Layout::blocked8};
  const Shape5 shape = random_shape(random, 40, 14);
  if (random.chance(0.5)) return {shape, planar, blocked};
  return {shape, blocked, planar};
}

LayerProblem random_problem(Random& random) {
  switch (random.integer(0, 5)) {
    case 0: {
      PoolProblem pool = random_pool(random, PoolMode::plain);
      if (random.chance(0.2)) pool.kind = PoolKind::average_inside;
      return pool;
    }
    case 1: {
      const bool plain = random.chance(0.2);
      if (random.chance(0.3)) return random_dilated_pool(random, plain ? PoolMode::plain : PoolMode::fragments);
      return random_pool(random, PoolMode::fragments);
    }
    case 2: return random_elementwise(random);
    case 3: {
      const std::int64_t width = random.chance(0.5) ? 16 : 8;
      if (!random.chance(0.3)) return random_reorder(random, width);
      const std::int64_t kind = random.integer(0, 9);
      if (kind < 2) return random_aligned_upsample(random);
      return kind < 5 ? random_linear_upsample(random) : random_upsample(random);
    }
    default: break;
  }
  if (random.chance(0.15)) return random_grouped_conv(random);
  ConvProblem conv = random.chance(0.25) ? random_strided_conv(random) : random_conv(random);
  if (!random.chance(0.15)) return conv;
  conv.k = conv.dilation = Vec3::cube(1);
  conv.in.f = random.integer(1, 4);
  conv.f_out = random.integer(1, 4);
  return conv;
}

}  // namespace znni::test
