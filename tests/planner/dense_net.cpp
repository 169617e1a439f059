#include "tests/planner/dense_net.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "planner/network/stacks.hpp"
#include "primitives/core/overloaded.hpp"

namespace znni::test {
namespace {

using oracle::Values;

// One value of the net at every position of the dense grid: [f][n].
struct Grid {
  std::int64_t f = 0;
  Vec3 n;
  Values values;

  Grid(std::int64_t channels, Vec3 extent) : f(channels), n(extent), values(count(), 0.0) {}
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(f * voxels(n)); }
  [[nodiscard]] std::size_t at(std::int64_t i, Vec3 v) const {
    return static_cast<std::size_t>(((i * n.z + v.z) * n.y + v.y) * n.x + v.x);
  }
};

template <class Body>
void for_each_voxel(Vec3 n, const Body& body) {
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; ++y) {
      for (std::int64_t x = 0; x < n.x; ++x) body(Vec3{z, y, x});
    }
  }
}

void add_grid(const Grid& from, Grid& to) {
  ASSERT_EQ(from.values.size(), to.values.size());
  std::transform(to.values.begin(), to.values.end(), from.values.begin(), to.values.begin(), std::plus<>());
}

void activate(Activation activation, Grid& grid) {
  for (double& value : grid.values) value = oracle::apply_exactly(activation, value);
}

Grid dense_conv(const Convolution& conv, const NodeWeights& weights, const std::vector<const Grid*>& inputs,
                Vec3 stride) {
  const Grid& in = *inputs[0];
  const Vec3 step = stride * conv.dilation;
  Grid out(conv.f_out, in.n - dilated(conv.k, step) + Vec3::cube(1));
  const std::int64_t f = in.f / conv.groups;
  for (std::int64_t j = 0; j < out.f; ++j) {
    for_each_voxel(out.n, [&](Vec3 v) {
      double sum = weights.bias.empty() ? 0.0 : static_cast<double>(weights.bias[static_cast<std::size_t>(j)]);
      std::size_t tap = static_cast<std::size_t>(j * f * voxels(conv.k));
      const std::int64_t first = j / (conv.f_out / conv.groups) * f;
      for (std::int64_t i = first; i < first + f; ++i) {
        for_each_voxel(conv.k, [&](Vec3 d) {
          sum += static_cast<double>(weights.kernels[tap++]) * in.values[in.at(i, v + step * d)];
        });
      }
      out.values[out.at(j, v)] = sum;
    });
  }
  if (inputs.size() > 1) add_grid(*inputs[1], out);
  activate(conv.activation, out);
  return out;
}

Grid dense_pool(const Pooling& pool, const Grid& in, Vec3 stride) {
  Grid out(in.f, in.n - dilated(pool.window, stride * pool.dilation) + Vec3::cube(1));
  for (std::int64_t i = 0; i < out.f; ++i) {
    for_each_voxel(out.n, [&](Vec3 v) {
      double most = -std::numeric_limits<double>::infinity();
      double sum = 0;
      for_each_voxel(pool.window, [&](Vec3 d) {
        const double value = in.values[in.at(i, v + stride * pool.dilation * d)];
        most = std::max(most, value);
        sum += value;
      });
      out.values[out.at(i, v)] = pool.kind == PoolKind::max ? most : sum / static_cast<double>(voxels(pool.window));
    });
  }
  return out;
}

Grid dense_across(const AcrossChannels& across, const Grid& in) {
  Grid out(makes_one_channel(across.kind) ? 1 : in.f, in.n);
  for_each_voxel(in.n, [&](Vec3 v) {
    Values channels;
    for (std::int64_t i = 0; i < in.f; ++i) channels.push_back(in.values[in.at(i, v)]);
    const AcrossChannelsProblem problem{{1, in.f, Vec3::cube(1)}, across.kind, across.epsilon};
    const Values made = oracle::oracle_run(problem, std::span(&channels, 1), {});
    for (std::int64_t i = 0; i < out.f; ++i) out.values[out.at(i, v)] = made[static_cast<std::size_t>(i)];
  });
  return out;
}

Grid dense_scale_shift(const NodeWeights& weights, Grid grid) {
  for (std::int64_t i = 0; i < grid.f; ++i) {
    const auto scale = static_cast<double>(weights.scale[static_cast<std::size_t>(i)]);
    const auto shift = static_cast<double>(weights.shift[static_cast<std::size_t>(i)]);
    for_each_voxel(grid.n, [&](Vec3 v) {
      double& value = grid.values[grid.at(i, v)];
      value = scale * value + shift;
    });
  }
  return grid;
}

Grid dense_prelu(const NodeWeights& weights, Grid grid) {
  for (std::int64_t i = 0; i < grid.f; ++i) {
    const auto slope = static_cast<double>(weights.scale[static_cast<std::size_t>(i)]);
    for_each_voxel(grid.n, [&](Vec3 v) {
      double& value = grid.values[grid.at(i, v)];
      if (value < 0) value *= slope;
    });
  }
  return grid;
}

Grid dense_add(const Add& sum, const std::vector<const Grid*>& inputs) {
  Grid out = *inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) add_grid(*inputs[i], out);
  activate(sum.activation, out);
  return out;
}

Grid dense_concat(const std::vector<const Grid*>& inputs) {
  Grid out(0, inputs[0]->n);
  for (const Grid* in : inputs) {
    out.f += in->f;
    out.values.insert(out.values.end(), in->values.begin(), in->values.end());
  }
  return out;
}

Grid dense_crop(const Crop& crop, const Grid& in, Vec3 stride) {
  const Vec3 begin = stride * crop.begin;
  Grid out(in.f, in.n - begin - stride * crop.end);
  for (std::int64_t i = 0; i < out.f; ++i) {
    for_each_voxel(out.n, [&](Vec3 v) { out.values[out.at(i, v)] = in.values[in.at(i, begin + v)]; });
  }
  return out;
}

Grid dense_multiply(const std::vector<const Grid*>& inputs) {
  Grid out = *inputs[0];
  const Grid& other = *inputs[1];
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] *= other.values[i % other.values.size()];
  return out;
}

Grid dense_divide(const std::vector<const Grid*>& inputs) {
  Grid out = *inputs[0];
  const Grid& other = *inputs[1];
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] /= other.values[i % other.values.size()];
  return out;
}

Grid dense_node(const Node& node, const NodeWeights& weights, const std::vector<const Grid*>& inputs, Vec3 stride) {
  const Grid& in = *inputs[0];
  return std::visit(Overloaded{[&](const Convolution& conv) { return dense_conv(conv, weights, inputs, stride); },
                               [&](const Pooling& pool) { return dense_pool(pool, in, stride); },
                               [&](const Activate& a) {
                                 Grid out = in;
                                 activate(a.activation, out);
                                 return out;
                               },
                               [&](const AcrossChannels& across) { return dense_across(across, in); },
                               [&](const ScaleShift&) { return dense_scale_shift(weights, in); },
                               [&](const PRelu&) { return dense_prelu(weights, in); },
                               [&](const Add& sum) { return dense_add(sum, inputs); },
                               [&](const Multiply&) { return dense_multiply(inputs); },
                               [&](const Divide&) { return dense_divide(inputs); },
                               [&](const Concat&) { return dense_concat(inputs); },
                               [&](const Crop& crop) { return dense_crop(crop, in, stride); },
                               [&](const Upsample&) -> Grid { throw std::logic_error("dense networks alone"); },
                               [&](const Norm&) -> Grid { throw std::logic_error("dense networks alone"); },
                               [&](const Attention&) -> Grid { throw std::logic_error("dense networks alone"); },
                               [&](const AddVolume&) -> Grid { throw std::logic_error("dense networks alone"); },
                               [&](const Stack&) -> Grid { throw std::logic_error("stacks are taken apart"); },
                               [&](const GlobalPool&) -> Grid { throw std::logic_error("dense networks alone"); }},
                    node.operation);
}

// Cuts out the window of one pass: [S][f][pass_input] out of [S][f][patch_input].
Values cut(const Values& patch, const Shape5& pass, Vec3 patch_input, Vec3 shift) {
  Values window;
  for (std::int64_t channel = 0; channel < pass.S * pass.f; ++channel) {
    for_each_voxel(pass.n, [&](Vec3 v) {
      const Vec3 at = v + shift;
      const std::int64_t place = ((channel * patch_input.z + at.z) * patch_input.y + at.y) * patch_input.x + at.x;
      window.push_back(patch[static_cast<std::size_t>(place)]);
    });
  }
  return window;
}

// Computes the stem's output, slab by slab.
Values run_stem(const NetworkWeights& weights, const Geometry& geometry, const Values& input) {
  const Stem& stem = geometry.stem;
  const Shape5 whole = geometry.values[static_cast<std::size_t>(stem.last) + 1];
  const std::int64_t plane = voxels({1, whole.n.y, whole.n.x});
  const std::int64_t slab = geometry.choice.stem_slab * plane;
  Values out(static_cast<std::size_t>(elements(whole)), std::numeric_limits<double>::quiet_NaN());
  for (const std::int64_t begin : stem.begins) {
    Values values = cut(input, stem.input, geometry.values[0].n, {begin * stem.step, 0, 0});
    for (std::size_t node = 0; node <= static_cast<std::size_t>(stem.last); ++node) {
      values = oracle::oracle_run(geometry.problems[node], std::vector<Values>{values}, weights[node].view());
    }
    for (std::int64_t channel = 0; channel < whole.S * whole.f; ++channel) {
      std::copy_n(values.begin() + channel * slab, slab, out.begin() + (channel * whole.n.z + begin) * plane);
    }
  }
  return out;
}

// Returns the voxels that lie `begin` further, as far as there are some.
Values shifted_values(const Values& values, const Shape5& shape, Vec3 begin) {
  Values moved;
  for (std::int64_t channel = 0; channel < shape.S * shape.f; ++channel) {
    for_each_voxel(shape.n, [&](Vec3 v) {
      const Vec3 at = v + begin;
      const std::int64_t place = ((channel * shape.n.z + at.z) * shape.n.y + at.y) * shape.n.x + at.x;
      const bool inside = covers(shape.n - Vec3::cube(1), at);
      moved.push_back(inside ? values[static_cast<std::size_t>(place)] : std::numeric_limits<double>::quiet_NaN());
    });
  }
  return moved;
}

void place_pass(const Geometry& geometry, std::size_t pass, const Values& values, Values& dense) {
  const Shape5 out = geometry.values.back();
  const std::int64_t fragments = out.S / geometry.choice.S;
  const Vec3 n = geometry.patch_output;
  std::size_t next = 0;
  for (std::int64_t s = 0; s < out.S; ++s) {
    for (std::int64_t j = 0; j < out.f; ++j) {
      for_each_voxel(out.n, [&](Vec3 v) {
        const Vec3 at = dense_position(geometry, pass, s % fragments, v);
        ASSERT_TRUE(covers(at, {}) && covers(n - Vec3::cube(1), at)) << to_string(at) << " of " << to_string(n);
        const std::int64_t channel = s / fragments * out.f + j;
        double& place = dense[static_cast<std::size_t>(((channel * n.z + at.z) * n.y + at.y) * n.x + at.x)];
        ASSERT_TRUE(std::isnan(place)) << "written twice: " << to_string(at);
        place = values[next++];
      });
    }
  }
}

}  // namespace

Values dense_output(const Network& stacked, const NetworkWeights& of_stacked, Vec3 n, const Values& input) {
  const auto& [network, weights] = unstacked({stacked, of_stacked});
  const std::vector<Reach> reach = reaches(network);
  std::vector<Grid> grids = {Grid(network.f_in, n)};
  grids[0].values = input;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    std::vector<const Grid*> inputs;
    for (const int value : network.nodes[i].inputs) inputs.push_back(&grids[static_cast<std::size_t>(value)]);
    const Vec3 stride = reach[static_cast<std::size_t>(network.nodes[i].inputs[0])].stride;
    Grid next = dense_node(network.nodes[i], weights[i], inputs, stride);
    grids.push_back(std::move(next));
  }
  return grids.back().values;
}

Values run_passes(const Network& network, const NetworkWeights& weights, const Geometry& geometry,
                  const Values& input) {
  const auto count =
      static_cast<std::size_t>(geometry.choice.S * geometry.values.back().f * voxels(geometry.patch_output));
  Values dense(count, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t pass = 0; pass < geometry.passes.size(); ++pass) {
    const Pass& now = geometry.passes[pass];
    std::vector<Values> values = {cut(input, geometry.values[0], geometry.patch_input, now.shift)};
    if (geometry.stem.last >= 0) {
      values.resize(static_cast<std::size_t>(geometry.stem.last) + 1);
      values.push_back(run_stem(weights, geometry, values[0]));
    }
    for (std::size_t i = values.size() - 1; i < network.nodes.size(); ++i) {
      std::vector<Values> inputs;
      for (const int value : network.nodes[i].inputs) inputs.push_back(values[static_cast<std::size_t>(value)]);
      const auto held = std::find(geometry.held.begin(), geometry.held.end(), static_cast<int>(i));
      if (held != geometry.held.end()) {
        inputs[0] = shifted_values(inputs[0], std::get<PoolProblem>(geometry.problems[i]).in,
                                   now.begins[static_cast<std::size_t>(held - geometry.held.begin())]);
      }
      values.push_back(oracle::oracle_run(geometry.problems[i], inputs, weights[i].view()));
    }
    place_pass(geometry, pass, values.back(), dense);
  }
  return dense;
}

Values normals64(std::int64_t count, Random& random) { return oracle::widened(random.normals(count)); }

}  // namespace znni::test
