#include <numeric>
#include <string>

#include "tests/planner/dense_net.hpp"

namespace znni::test {
namespace {

constexpr std::int64_t max_fov = 14;
constexpr std::int64_t max_stride = 6;

// Grows a net block by block; a block is undone where it makes the field of view or the stride too large.
class Grower {
 public:
  explicit Grower(Random& random) : random_(random) {
    network_.name = "random";
    network_.f_in = random_.integer(1, 2);
  }

  Network grow() {
    const std::int64_t blocks = random_.integer(1, 6);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const Network before = network_;
      const int value = value_;
      add_block();
      const Reach reach = reaches(network_).back();
      if (covers(Vec3::cube(max_fov), reach.fov) && covers(Vec3::cube(max_stride), reach.stride)) continue;
      network_ = before;
      value_ = value;
    }
    if (network_.nodes.empty()) add(conv(Vec3{1, 2, 3}), value_);
    return network_;
  }

 private:
  int add(Operation operation, std::vector<int> inputs) {
    const std::string name = "node_" + std::to_string(network_.nodes.size());
    network_.nodes.push_back({name, std::move(operation), std::move(inputs)});
    value_ = static_cast<int>(network_.nodes.size());
    return value_;
  }
  int add(Operation operation, int input) { return add(std::move(operation), std::vector<int>{input}); }

  Convolution conv(Vec3 k, Vec3 dilation = Vec3::cube(1)) {
    Convolution result{random_.integer(1, 3), k, dilation, {}};
    if (random_.chance(0.3)) result.activation = random_activation(random_);
    return result;
  }
  Pooling pool() {
    Pooling made{random_.chance(0.3) ? PoolKind::average : PoolKind::max, random_.vec3(1, 3), random_.vec3(1, 3)};
    if (random_.chance(0.2)) made.dilation = random_.vec3(1, 2);
    return made;
  }

  void add_block() {
    const std::int64_t kind = random_.integer(0, 15);
    if (kind <= 2) {
      Convolution own = conv(random_.vec3(1, 3), random_.chance(0.3) ? random_.vec3(1, 2) : Vec3::cube(1));
      if (random_.chance(0.3)) own.groups = std::gcd(channels_of(network_).back(), own.f_out);
      add(own, value_);
    } else if (kind <= 6) {
      add(pool(), value_);
    } else if (kind == 7) {
      add_elementwise();
    } else if (kind <= 9) {
      join(same_reach_convs());
    } else if (kind == 10) {
      join(pool_before_and_after());
    } else if (kind == 11) {
      join(pools_in_both_orders());
    } else if (kind == 12) {
      add(Crop{random_.vec3(0, 1), random_.vec3(0, 2)}, value_);
    } else if (kind == 13) {
      join(crop_beside_convs());
    } else if (kind == 14) {
      join(crop_before_and_after_a_pool());
    } else {
      add_maps_of_one_tensor();
    }
  }

  void add_elementwise() {
    const std::int64_t kind = random_.integer(0, 2);
    if (kind == 0) add(Activate{random_activation(random_)}, value_);
    if (kind == 1) add(AcrossChannels{static_cast<AcrossKind>(random_.integer(0, 1))}, value_);
    if (kind == 2) add(random_.chance(0.5) ? Operation(ScaleShift{}) : Operation(PRelu{}), value_);
  }

  // Adds convolutions of the same reach: 2 + 2 - 1 = 3, a kernel of 2 dilated by 2.
  std::vector<int> same_reach_convs() {
    const int from = value_;
    const int a = add(conv(Vec3::cube(2), Vec3::cube(2)), from);
    const int half = add(conv(Vec3::cube(2)), from);
    return {a, add(conv(Vec3::cube(2)), half)};
  }

  // Pools before a convolution, and after one that is dilated by the stride, so that both reach as far.
  std::vector<int> pool_before_and_after() {
    const int from = value_;
    const Pooling pooling = pool();
    const Vec3 k = random_.vec3(1, 2);
    const int pooled = add(pooling, from);
    const int a = add(conv(k), pooled);
    const int convolved = add(conv(k, pooling.stride), from);
    return {a, add(pooling, convolved)};
  }

  // Crops from one branch what convolutions take from the other, at either side.
  std::vector<int> crop_beside_convs() {
    const int from = value_;
    const Vec3 k = random_.vec3(1, 3);
    const int first = add(conv(k), from);
    const int convolved = add(conv(Vec3::cube(2)), first);
    Crop crop;
    for (int axis = 0; axis < 3; ++axis) crop.begin[axis] = random_.integer(0, k[axis]);
    crop.end = k - crop.begin;
    return {convolved, add(crop, from)};
  }

  // Crops voxels of fragments, and voxels of what they are made of.
  std::vector<int> crop_before_and_after_a_pool() {
    const int from = value_;
    const Pooling pooling = pool();
    const Crop crop{random_.vec3(0, 1), random_.vec3(0, 1)};
    const int pooled = add(pooling, from);
    const int a = add(crop, pooled);
    const int cropped = add(Crop{pooling.stride * crop.end, pooling.stride * crop.begin}, from);
    return {a, add(pooling, cropped)};
  }

  // Adds a convolution and maps that it might take in: cropped before or behind, as far as the convolution reaches.
  void add_maps_of_one_tensor() {
    const int from = value_;
    Convolution whole{channels_of(network_).back(), random_.vec3(1, 3), random_.vec3(1, 2), {}};
    if (random_.chance(0.2)) whole.activation = random_activation(random_);
    std::vector<int> addends = {add(whole, from)};
    const std::int64_t more = random_.integer(1, 2);
    for (std::int64_t i = 0; i < more; ++i) addends.push_back(cropped_map(from, whole));
    if (random_.chance(0.5)) std::swap(addends.front(), addends.back());
    add(Add{random_.chance(0.5) ? random_activation(random_) : Activation{}}, std::move(addends));
  }

  int cropped_map(int from, const Convolution& whole) {
    Convolution part{whole.f_out, {}, whole.dilation, {}};
    Crop crop;
    for (int axis = 0; axis < 3; ++axis) {
      part.k[axis] = random_.integer(1, whole.k[axis]);
      const std::int64_t border = (whole.k[axis] - part.k[axis]) * whole.dilation[axis];
      crop.begin[axis] = random_.integer(0, border);
      crop.end[axis] = border - crop.begin[axis];
    }
    const bool first = random_.chance(0.5);
    if (first) from = add(crop, from);
    if (part.k != Vec3::cube(1) || random_.chance(0.5)) {
      from = add(part, from);
    } else if (random_.chance(0.5)) {
      from = add(ScaleShift{}, from);
    }
    return first ? from : add(crop, from);
  }

  std::vector<int> pools_in_both_orders() {
    const int from = value_;
    const Pooling two{PoolKind::max, {1, 2, 2}, {1, 2, 2}};
    const Pooling three{PoolKind::max, {2, 1, 3}, {2, 1, 3}};
    const int a = add(two, from);
    const int b = add(three, a);
    const int c = add(three, from);
    return {b, add(two, c)};
  }

  void join(std::vector<int> branches) {
    if (random_.chance(0.5)) {
      add(Concat{}, std::move(branches));
      return;
    }
    const std::int64_t f = random_.integer(1, 3);
    for (int& branch : branches) {
      Convolution mix = conv(Vec3::cube(1));
      mix.f_out = f;
      branch = add(mix, branch);
    }
    add(Add{random_.chance(0.5) ? random_activation(random_) : Activation{}}, std::move(branches));
  }

  Random& random_;
  Network network_;
  int value_ = 0;
};

}  // namespace

Network random_network(Random& random) { return Grower(random).grow(); }

Vec3 random_extent(const Network& network, const std::vector<PoolingMode>& modes, Random& random,
                   std::int64_t max_out) {
  Vec3 extent;
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<std::int64_t> legal = legal_extents(network, modes, axis, 1000);
    extent[axis] = legal.at(static_cast<std::size_t>(random.integer(0, max_out - 1)));
  }
  return extent;
}

}  // namespace znni::test
