#include "tests/server/pipeline/random_network.hpp"

#include <string>
#include <utility>
#include <vector>

namespace znni::test {
namespace {

// Grows a net from its input; `last` is the value that continues it.
class Grower {
 public:
  Grower(Random& random, std::int64_t f_in) : random_(random) {
    network_.name = "random";
    network_.f_in = f_in;
  }

  int add(const std::string& kind, Operation operation, std::vector<int> inputs) {
    network_.nodes.push_back({kind + std::to_string(network_.nodes.size()), std::move(operation), std::move(inputs)});
    last_ = static_cast<int>(network_.nodes.size());
    return last_;
  }
  int conv(Vec3 k, std::int64_t f_out, int input) {
    return add("conv", Convolution{f_out, k, Vec3::cube(1), random_activation(random_)}, {input});
  }

  void random_conv() {
    Convolution conv{random_.integer(1, 6), random_.vec3(1, 3), random_.vec3(1, 2), random_activation(random_)};
    add("conv", conv, {last_});
  }
  void random_pool() {
    const Vec3 stride = random_.vec3(1, 3);
    const Vec3 window = random_.chance(0.7) ? stride : random_.vec3(1, 3);
    Pooling pool{random_.chance(0.7) ? PoolKind::max : PoolKind::average, window, stride};
    if (random_.chance(0.2)) pool.dilation = random_.vec3(1, 2);
    add("pool", pool, {last_});
  }
  void residual() {
    const int from = last_;
    const std::int64_t f = channels_of(network_).back();
    const int branch = conv(Vec3::cube(1), f, from);
    if (random_.chance(0.5)) {
      add("add", Add{random_activation(random_)}, {from, branch});
    } else {
      add("residual", Convolution{f, Vec3::cube(1), Vec3::cube(1), random_activation(random_)}, {branch, from});
    }
  }
  void concatenation() {
    const int from = last_;
    const Vec3 k = random_.vec3(1, 2);
    const int a = conv(k, random_.integer(1, 3), from);
    const int b = conv(k, random_.integer(1, 3), from);
    add("concat", Concat{}, {a, b});
  }
  // Adds a residual: the trunk loses as much to a convolution as the skipped branch to a crop.
  void cropped_residual() {
    const int from = last_;
    const std::int64_t f = channels_of(network_).back();
    const Vec3 k = random_.vec3(1, 3);
    Crop crop;
    for (int axis = 0; axis < 3; ++axis) crop.begin[axis] = random_.integer(0, k[axis] - 1);
    crop.end = k - Vec3::cube(1) - crop.begin;
    const int branch = conv(k, f, from);
    const int cropped = add("crop", crop, {from});
    if (random_.chance(0.5)) {
      add("skip", Concat{}, {branch, cropped});
    } else {
      add("skip", Add{random_activation(random_)}, {branch, cropped});
    }
  }
  void element_wise() {
    if (random_.chance(0.5)) {
      add("scale", ScaleShift{}, {last_});
    } else {
      add("act", Activate{random_activation(random_)}, {last_});
    }
  }

  [[nodiscard]] const Network& network() const { return network_; }

 private:
  Random& random_;
  Network network_;
  int last_ = 0;
};

Network grow(Random& random) {
  Grower grower(random, random.integer(1, 2));
  grower.random_conv();
  for (std::int64_t poolings = random.integer(1, 3); poolings > 0; --poolings) {
    if (random.chance(0.3)) grower.residual();
    if (random.chance(0.2)) grower.cropped_residual();
    grower.random_pool();
    if (random.chance(0.2)) grower.cropped_residual();
    if (random.chance(0.3)) grower.concatenation();
    if (random.chance(0.3)) grower.element_wise();
    grower.random_conv();
  }
  if (random.chance(0.4)) {
    constexpr AcrossKind kinds[] = {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::norm};
    const AcrossChannels across{kinds[random.integer(0, 2)], 0.1F};
    grower.add("across", across, {static_cast<int>(grower.network().nodes.size())});
  }
  return grower.network();
}

}  // namespace

Network random_network(Random& random, std::int64_t max_fov) {
  for (;;) {
    Network network = grow(random);
    if (covers(Vec3::cube(max_fov), reaches(network).back().fov)) return network;
  }
}

Network simple_network(int poolings, Vec3 k, std::int64_t f) {
  Random random(1);
  Grower grower(random, 1);
  const Activation relu{ActivationKind::relu, 0};
  for (int i = 0; i <= poolings; ++i) {
    const int value = static_cast<int>(grower.network().nodes.size());
    const int conv = grower.add("conv", Convolution{i == poolings ? 2 : f, k, Vec3::cube(1), relu}, {value});
    if (i < poolings) grower.add("pool", Pooling{}, {conv});
  }
  return grower.network();
}

Network network_of_crossed_poolings() {
  Random random(1);
  Grower grower(random, 1);
  const auto pool = [&](std::int64_t p, int from) {
    return grower.add("pool", Pooling{PoolKind::max, Vec3::cube(p), Vec3::cube(p)}, {from});
  };
  const int first = grower.conv(Vec3::cube(2), 3, 0);
  const int a = pool(3, pool(2, first));
  const int b = pool(2, pool(3, first));
  const int joined = grower.add("concat", Concat{}, {a, b});
  grower.conv(Vec3::cube(2), 2, joined);
  return grower.network();
}

}  // namespace znni::test
