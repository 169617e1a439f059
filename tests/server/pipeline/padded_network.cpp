#include "tests/server/pipeline/padded_network.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "planner/network/graph_passes.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"

namespace znni::test {
namespace {

using oracle::Values;

// Grows a padded net from its input; `last` is the value that continues it.
class PaddedGrower {
 public:
  explicit PaddedGrower(Random& random) : random_(random) {
    padded_.network.name = "padded";
    padded_.network.f_in = random.integer(1, 3);
  }

  int add(const std::string& kind, Operation operation, std::vector<int> inputs, const Border& pads = {}) {
    std::vector<Node>& nodes = padded_.network.nodes;
    nodes.push_back({kind + std::to_string(nodes.size()), std::move(operation), std::move(inputs)});
    padded_.pads.push_back(pads);
    last_ = static_cast<int>(nodes.size());
    return last_;
  }
  int conv(std::int64_t f_out, int input, bool same) {
    Convolution conv{f_out, random_.vec3(1, 3), random_.vec3(1, 2), random_activation(random_)};
    const std::int64_t f = channels_of(padded_.network)[static_cast<std::size_t>(input)];
    if (random_.chance(0.3)) conv.groups = std::gcd(f, f_out);
    const Vec3 both = dilated(conv.k, conv.dilation) - Vec3::cube(1);
    Border pads{both / Vec3::cube(2), both - both / Vec3::cube(2)};
    if (!same) pads = {min(both, random_.vec3(0, 2)), {}};
    return add("conv", conv, {input}, pads);
  }
  void chain() { conv(random_.integer(1, 5), last_, random_.chance(0.8)); }
  // Adds two convolutions and what they read.
  void residual() {
    const int from = last_;
    const std::int64_t f = channels_of(padded_.network).back();
    conv(random_.integer(1, 4), from, true);
    const int branch = conv(f, last_, true);
    if (random_.chance(0.7)) {
      add("sum", Add{random_activation(random_)}, {from, branch});
    } else {
      add("both", Concat{}, {from, branch});
    }
  }
  // Adds two branches that begin alike and may become one.
  void branches() {
    const int from = last_;
    const std::int64_t f = random_.integer(1, 3);
    const Vec3 k = random_.vec3(1, 3);
    const Border pads{(k - Vec3::cube(1)) / Vec3::cube(2), k / Vec3::cube(2)};
    std::vector<int> ends;
    for (int branch = 0; branch < 2; ++branch) {
      const int first = add("first", Convolution{random_.integer(1, 3), k, Vec3::cube(1), {}}, {from}, pads);
      ends.push_back(add("last", Convolution{f, k, Vec3::cube(1), {}}, {first}, pads));
    }
    add("both", random_.chance(0.5) ? Operation(Add{}) : Operation(Concat{}), ends);
  }
  // Adds a pooling, whose windows hold a voxel of the volume wherever they are: the middle one, where it is dilated.
  void pool() {
    Pooling pool{any_pool_kind(random_), random_.vec3(1, 3), Vec3::cube(1)};
    if (random_.chance(0.4)) {
      pool.window = random_.vec3(0, 1) * Vec3::cube(2) + Vec3::cube(1);
      pool.dilation = random_.vec3(1, 2);
    }
    const Vec3 read = dilated(pool.window, pool.dilation);
    add("pool", pool, {last_}, {(read - Vec3::cube(1)) / Vec3::cube(2), read / Vec3::cube(2)});
  }
  void valid() {
    if (random_.chance(0.5)) {
      add("crop", Crop{random_.vec3(0, 1), random_.vec3(0, 1)}, {last_});
    } else {
      add("pool", Pooling{PoolKind::max, random_.vec3(1, 2), Vec3::cube(1)}, {last_});
    }
  }
  void element_wise() {
    if (random_.chance(0.6)) {
      add("scale", random_.chance(0.5) ? Operation(ScaleShift{}) : Operation(PRelu{}), {last_});
    } else {
      add("act", Activate{random_activation(random_)}, {last_});
    }
  }

  // Adds poolings of stride 1 that pad as they like, and what may stand between them.
  void stack() {
    for (std::int64_t stages = random_.integer(2, 6); stages > 0; --stages) {
      if (random_.chance(0.4)) {
        add("stage", random_.chance(0.5) ? Operation(ScaleShift{}) : Operation(Activate{stage_activation()}), {last_});
        continue;
      }
      const Pooling pool{random_.chance(0.7) ? PoolKind::max : PoolKind::average, random_.vec3(1, 3), Vec3::cube(1)};
      Border pads;
      for (int axis = 0; axis < 3 && random_.chance(0.9); ++axis) {
        pads.begin[axis] = random_.integer(0, pool.window[axis] - 1);
        pads.end[axis] = pool.window[axis] - 1 - pads.begin[axis];
      }
      add("stage", pool, {last_}, pads);
    }
  }
  // Adds a stack of what a pooling with a stride makes, and gives its voxels back.
  void coarse_stack() {
    const Vec3 factor = random_.vec3(1, 2);
    add("down", Pooling{PoolKind::max, factor, factor}, {last_});
    stack();
    add("up", Upsample{factor}, {last_});
  }
  void stack_with_skip() {
    const int from = last_;
    const int skip = conv(2, from, true);
    last_ = from;
    add("pool", Pooling{PoolKind::max, Vec3::cube(3), Vec3::cube(1)}, {from}, {Vec3::cube(1), Vec3::cube(1)});
    add("scale", ScaleShift{}, {last_});
    add("skip", Concat{}, {skip, last_});
  }

  PaddedNetwork finish() {
    conv(random_.integer(1, 3), last_, true);
    return finish_as_it_is();
  }
  PaddedNetwork finish_as_it_is() {
    padded_.weights = random_weights(padded_.network, static_cast<std::uint64_t>(random_.integer(1, 1000)));
    return std::move(padded_);
  }

 private:
  Activation stage_activation() {
    const Activation drawn = random_activation(random_);
    return drawn.kind == ActivationKind::none ? Activation{ActivationKind::relu} : drawn;
  }

  Random& random_;
  PaddedNetwork padded_;
  int last_ = 0;
};

// Returns the problem of a node by itself, which keeps one offset of its stride.
LayerProblem plain_problem(const Operation& operation, const std::vector<Shape5>& in) {
  if (const auto* conv = std::get_if<Convolution>(&operation)) {
    return ConvProblem{in[0], conv->f_out, conv->k,     conv->dilation, conv->stride, conv->activation,
                       false, {},          conv->groups};
  }
  if (const auto* pool = std::get_if<Pooling>(&operation)) {
    PoolProblem problem{
        .in = in[0], .window = pool->window, .stride = pool->stride, .kind = pool->kind, .dilation = pool->dilation};
    const Vec3 read = spanned(problem);
    problem.in.n = (problem.in.n - read) / pool->stride * pool->stride + read;
    return problem;
  }
  if (const auto* up = std::get_if<Upsample>(&operation)) return UpsampleProblem{in[0], up->factor, up->kind};
  return dense_problem(operation, Vec3::cube(1), in);
}

// Returns the values within `pads` of `fill`.
Values within(const Shape5& shape, const Values& values, const Border& pads, double fill) {
  const Vec3 n = shape.n + pads.begin + pads.end;
  Values out(static_cast<std::size_t>(shape.f * voxels(n)), fill);
  for (std::int64_t row = 0; row < shape.f * shape.n.z * shape.n.y; ++row) {
    const std::int64_t y = row % shape.n.y + pads.begin.y;
    const std::int64_t z = row / shape.n.y % shape.n.z + pads.begin.z;
    const std::int64_t channel = row / (shape.n.y * shape.n.z);
    const auto from = values.begin() + row * shape.n.x;
    std::copy(from, from + shape.n.x, out.begin() + ((channel * n.z + z) * n.y + y) * n.x + pads.begin.x);
  }
  return out;
}

// Returns the place of which voxel `at`, beyond n voxels or not, is a copy.
Vec3 source_of(Vec3 at, Vec3 n, bool reflects) {
  if (!reflects) return max(Vec3{}, min(at, n - Vec3::cube(1)));
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t last = n[axis] - 1;
    at[axis] = last - std::abs(last - std::abs(at[axis]));
  }
  return at;
}

// Returns the values within `pads` of the nearest of them, or of those as far inside.
Values copied(const Shape5& shape, const Values& values, const Border& pads, bool reflects) {
  const Vec3 n = shape.n + pads.begin + pads.end;
  Values out;
  for (std::int64_t i = 0; i < shape.f * voxels(n); ++i) {
    const Vec3 place{i / (n.y * n.x) % n.z, i / n.x % n.y, i % n.x};
    const Vec3 from = source_of(place - pads.begin, shape.n, reflects);
    const std::int64_t channel = i / voxels(n);
    out.push_back(
        values[static_cast<std::size_t>(((channel * shape.n.z + from.z) * shape.n.y + from.y) * shape.n.x + from.x)]);
  }
  return out;
}

// Returns the first voxels along each axis.
Values cut_to(const Shape5& shape, const Shape5& whole, const Values& values) {
  Values out;
  for (std::int64_t row = 0; row < shape.f * shape.n.z * shape.n.y; ++row) {
    const std::int64_t y = row % shape.n.y;
    const std::int64_t z = row / shape.n.y % shape.n.z;
    const std::int64_t channel = row / (shape.n.y * shape.n.z);
    const auto from = values.begin() + ((channel * whole.n.z + z) * whole.n.y + y) * whole.n.x;
    out.insert(out.end(), from, from + shape.n.x);
  }
  return out;
}

// Returns each voxel `stride` times, as far as the volume of extent `n` goes: less than a stride is missing of it.
Values spread(const Shape5& shape, const Values& values, Vec3 stride, Vec3 n) {
  if (stride == Vec3::cube(1)) return values;
  Vec3 whole = shape.n * stride;
  for (int axis = 0; axis < 3; ++axis) {
    if (whole[axis] - n[axis] < stride[axis]) whole[axis] = std::min(whole[axis], n[axis]);
  }
  Values out;
  for (std::int64_t i = 0; i < shape.f * voxels(whole); ++i) {
    const Vec3 from = Vec3{i / (whole.y * whole.x) % whole.z, i / whole.x % whole.y, i % whole.x} / stride;
    const std::int64_t channel = i / voxels(whole);
    out.push_back(
        values[static_cast<std::size_t>(((channel * shape.n.z + from.z) * shape.n.y + from.y) * shape.n.x + from.x)]);
  }
  return out;
}

}  // namespace

PaddedNetwork random_padded_network(Random& random) {
  PaddedGrower grower(random);
  grower.chain();
  for (std::int64_t count = random.integer(1, 3); count > 0; --count) {
    const std::int64_t what = random.integer(-1, 6);
    if (what == -1) grower.branches();
    if (what == 0 || what == 1) grower.residual();
    if (what == 2) grower.chain();
    if (what == 3) grower.valid();
    if (what == 4 || what == 5) grower.element_wise();
    if (what == 6) grower.pool();
  }
  return grower.finish();
}

PaddedNetwork random_stacked_network(Random& random) {
  PaddedGrower grower(random);
  if (random.chance(0.6)) grower.chain();
  for (std::int64_t count = random.integer(1, 2); count > 0; --count) {
    if (random.chance(0.3)) {
      grower.stack_with_skip();
    } else if (random.chance(0.3)) {
      grower.coarse_stack();
    } else {
      grower.stack();
    }
    if (random.chance(0.5)) grower.chain();
  }
  return random.chance(0.5) ? grower.finish() : grower.finish_as_it_is();
}

Values padded_oracle(const PaddedNetwork& padded, Vec3 n, const Values& volume) {
  std::vector<Shape5> shapes = {{1, padded.network.f_in, n}};
  std::vector<Values> values = {volume};
  for (std::size_t i = 0; i < padded.network.nodes.size(); ++i) {
    const Node& node = padded.network.nodes[i];
    std::vector<Shape5> in;
    std::vector<Values> inputs;
    for (const int input : node.inputs) {
      in.push_back(shapes[static_cast<std::size_t>(input)]);
      inputs.push_back(values[static_cast<std::size_t>(input)]);
    }
    const auto* pool = std::get_if<Pooling>(&node.operation);
    const bool hides = pool != nullptr && pool->kind != PoolKind::average;
    const double fill = hides ? -std::numeric_limits<double>::infinity() : 0.0;
    const bool repeats =
        std::holds_alternative<Upsample>(node.operation) || std::holds_alternative<Crop>(node.operation);
    const auto* crop = std::get_if<Crop>(&node.operation);
    if (crop != nullptr && crop->reflects) {
      // What it crops may reach further than the volume has voxels to reflect, and is not read.
      const Border around{padded.pads[i].begin - crop->begin, padded.pads[i].end - crop->end};
      shapes.push_back({1, in.front().f, in.front().n + around.begin + around.end});
      values.push_back(copied(in.front(), inputs.front(), around, true));
      continue;
    }
    inputs.front() = repeats ? copied(in.front(), inputs.front(), padded.pads[i], false)
                             : within(in.front(), inputs.front(), padded.pads[i], fill);
    in.front().n = in.front().n + padded.pads[i].begin + padded.pads[i].end;
    const LayerProblem problem = plain_problem(node.operation, in);
    if (pool != nullptr) inputs.front() = cut_to(input_shape(problem, 0), in.front(), inputs.front());
    shapes.push_back(output_shape(problem));
    values.push_back(oracle::oracle_run(problem, inputs, padded.weights[i].view()));
  }
  return spread(shapes.back(), values.back(), padded.output_stride, n);
}

LoadedNetwork valid_form(const PaddedNetwork& padded, bool fused) {
  Result<LoadedNetwork> valid = without_padding({padded.network, padded.weights}, padded.pads, padded.declared);
  if (!valid) throw std::runtime_error(valid.error().message);
  return fused ? fold_and_fuse(*std::move(valid)) : *std::move(valid);
}

bool has_stack(const Network& network) {
  return std::any_of(network.nodes.begin(), network.nodes.end(),
                     [](const Node& node) { return std::holds_alternative<Stack>(node.operation); });
}

std::string in_words(const Network& network) {
  std::string text;
  for (const std::string& line : describe(network)) text += "\n" + line;
  return text;
}

Vec3 random_extent(const Network& network, Random& random) {
  const Vec3 least = min_extent(network) - network.frame.begin - network.frame.end;
  const Vec3 step = period(network);
  // Any extent is right for a network without strides.
  return least + step * (step == Vec3::cube(1) ? random.vec3(0, 14) : random.vec3(0, 3));
}

double error_of(Engine& engine, const PaddedNetwork& padded, Vec3 n, Random& random) {
  // Little room for output that waits makes bands of a stream's columns.
  const std::int64_t max_held = random.chance(0.4) ? random.integer(1, 20000) : saturated;
  const RandomVolume volume = random_volume(padded.network.f_in, n, ElementType::f32, random);
  const Normalisation shifted{2.0F, 0.5F};  // zeros stand around what the network reads, not around the volume
  const JobOutcome outcome =
      run_job(engine, volume.view(), shifted, ElementType::f32, VolumeOrder::channel_major, max_held);
  if (!outcome.statistics) throw std::runtime_error(outcome.statistics.error().message);
  const Values exact = padded_oracle(padded, n, volume_values(volume.view(), shifted));
  return relative_error(output_values(outcome), exact);
}

}  // namespace znni::test
