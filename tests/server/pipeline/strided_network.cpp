#include "tests/server/pipeline/strided_network.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace znni::test {
namespace {

// Extent of the input for which skips are cropped; every factor of two levels divides it.
constexpr std::int64_t nominal = 36 * 10;

// The voxels that stand around some convolutions instead of zeros.
enum class Copies { none, edges, reflections };

class StridedGrower {
 public:
  StridedGrower(Random& random, bool valid, bool linear, Copies copies = Copies::none)
      : random_(random), valid_(valid), linear_(linear), copies_(copies) {
    net_.network.name = "strided";
    net_.network.f_in = random.integer(1, 3);
    net_.declared = valid ? Vec3::cube(nominal) + random.vec3(0, 5) : Vec3{};
    extents_.push_back(valid ? net_.declared : Vec3::cube(nominal));
  }

  // Returns false if a valid network's branches cannot meet: a skip is smaller than what comes from below.
  bool level(std::int64_t depth) {
    conv(random_.integer(1, 4));
    if (random_.chance(0.3)) element_wise();
    if (depth == 0) return true;
    const int skip = last_;
    const Vec3 factor{random_.integer(1, 2), random_.integer(1, random_.chance(0.2) ? 3 : 2), 2};
    down(factor);
    if (!level(depth - 1)) return false;
    up(factor);
    if (random_.chance(0.4)) element_wise();
    if (!join(skip)) return false;
    if (random_.chance(0.7)) conv(random_.integer(1, 4));
    return true;
  }

  void coarsen() {
    net_.output_stride = {random_.integer(1, 3), random_.integer(1, 2), 2};
    down(net_.output_stride);
    if (random_.chance(0.5)) conv(random_.integer(1, 3));
  }

  PaddedNetwork finish() {
    net_.weights = random_weights(net_.network, static_cast<std::uint64_t>(random_.integer(1, 1000)));
    return std::move(net_);
  }

 private:
  std::int64_t channels(int value) const { return channels_of(net_.network)[static_cast<std::size_t>(value)]; }
  Vec3 extent(int value) const { return extents_[static_cast<std::size_t>(value)]; }

  int add(const std::string& kind, Operation operation, std::vector<int> inputs, Vec3 extent, const Border& pads = {}) {
    std::vector<Node>& nodes = net_.network.nodes;
    nodes.push_back({kind + std::to_string(nodes.size()), std::move(operation), std::move(inputs)});
    net_.pads.push_back(pads);
    extents_.push_back(extent);
    last_ = static_cast<int>(nodes.size());
    return last_;
  }

  // Returns the zeros around a window of a stride so that the output has the input's extent over the stride.
  Border same(Vec3 window, Vec3 stride) {
    Border pads;
    for (int axis = 0; axis < 3 && !valid_; ++axis) {
      const std::int64_t both =
          random_.integer(std::max<std::int64_t>(0, window[axis] - stride[axis]), window[axis] - 1);
      pads.begin[axis] = random_.integer(0, both);
      pads.end[axis] = both - pads.begin[axis];
    }
    return pads;
  }
  Vec3 reduced(Vec3 window, Vec3 stride, const Border& pads) const {
    return (extent(last_) + pads.begin + pads.end - window) / stride + Vec3::cube(1);
  }

  void conv(std::int64_t f_out) {
    const Convolution conv{f_out, random_.vec3(1, 3), random_.vec3(1, 2), random_activation(random_)};
    const Vec3 window = dilated(conv.k, conv.dilation);
    Border pads = same(window, Vec3::cube(1));
    if (copies_ == Copies::reflections && random_.chance(0.5)) pads = halved(window);
    if (copies_ != Copies::none && pads != Border{} && random_.chance(0.6)) {
      copies_ == Copies::edges ? repeat_edges(pads) : reflect(pads);
      add("conv", conv, {last_}, reduced(window, Vec3::cube(1), {}));
    } else {
      add("conv", conv, {last_}, reduced(window, Vec3::cube(1), pads), pads);
    }
  }

  // Repeats the voxels at the border outwards.
  void repeat_edges(const Border& edges) {
    const Crop crop{edges.end + random_.vec3(0, 1), edges.begin + random_.vec3(0, 1)};
    add("edges", crop, {last_}, extent(last_) + edges.begin + edges.end,
        {crop.begin + edges.begin, crop.end + edges.end});
  }

  // Returns pads of which every window that reaches beyond the volume holds the voxels that are reflected.
  static Border halved(Vec3 window) {
    const Vec3 half = (window - Vec3::cube(1)) / Vec3::cube(2);
    return {half, half};
  }

  // Reflects the voxels beside the border outwards.
  void reflect(const Border& around) {
    const Vec3 both = Vec3::cube(2);
    const Crop crop{around.end * both + random_.vec3(0, 1), max(around.begin, around.end) * both + random_.vec3(0, 1),
                    true};
    add("reflected", crop, {last_}, extent(last_) + around.begin + around.end,
        {crop.begin + around.begin, crop.end + around.end});
  }

  void down(Vec3 factor) {
    const bool convolves = random_.chance(0.4);
    const Vec3 window = max(convolves || random_.chance(0.4) ? random_.vec3(1, 3) : factor, Vec3::cube(1));
    const Border pads = same(window, factor);
    const Vec3 n = reduced(window, factor, pads);
    if (convolves) {
      add("down", Convolution{random_.integer(1, 4), window, Vec3::cube(1), random_activation(random_), factor},
          {last_}, n, pads);
    } else {
      add("pool", Pooling{any_pool_kind(random_), window, factor}, {last_}, n, pads);
    }
  }

  // Adds an interpolation with the voxels at the border repeated, or, in some valid networks, without.
  void interpolate(Vec3 factor) {
    const Vec3 window = upsampling_window(UpsampleKind::linear, factor);
    const Vec3 beside = valid_ && random_.chance(0.3) ? Vec3{} : (window - Vec3::cube(1)) / Vec3::cube(2);
    const Vec3 n = (extent(last_) + beside + beside - window + Vec3::cube(1)) * factor;
    add("linear", Upsample{factor, UpsampleKind::linear}, {last_}, n, {beside, beside});
  }

  void up(Vec3 factor) {
    if (linear_ && random_.chance(0.7)) {
      interpolate(factor);
      return;
    }
    if (random_.chance(0.4)) {
      add("nearest", Upsample{factor, UpsampleKind::nearest}, {last_}, extent(last_) * factor);
      return;
    }
    const std::int64_t f = random_.integer(1, 3);
    const Vec3 taps = random_.vec3(1, 2);
    const Border pads{taps - Vec3::cube(1), taps - Vec3::cube(1)};
    const Vec3 n = extent(last_) + taps - Vec3::cube(1);
    add("taps", Convolution{f * voxels(factor), taps, Vec3::cube(1), {}}, {last_}, n, pads);
    add("shuffle", Upsample{factor, UpsampleKind::shuffle}, {last_}, n * factor);
    const Vec3 more = factor * (taps - Vec3::cube(1));
    const Vec3 begin{random_.integer(0, more.z), random_.integer(0, more.y), random_.integer(0, more.x)};
    if (more != Vec3{}) add("crop", Crop{begin, more - begin}, {last_}, n * factor - more);
  }

  bool join(int skip) {
    const Vec3 more = extent(skip) - extent(last_);
    if (!covers(more, {}) || !covers(extent(last_), Vec3::cube(1))) return false;
    int other = last_;
    if (more != Vec3{}) {
      const Vec3 begin = more / Vec3::cube(2);
      skip = add("middle", Crop{begin, more - begin}, {skip}, extent(other));
    }
    const bool adds = channels(skip) == channels(other) && random_.chance(0.7);
    const std::vector<int> both = random_.chance(0.5) ? std::vector{skip, other} : std::vector{other, skip};
    add(adds ? "sum" : "both", adds ? Operation(Add{random_activation(random_)}) : Operation(Concat{}), both,
        extent(other));
    return true;
  }

  void element_wise() {
    add("act", random_.chance(0.5) ? Operation(ScaleShift{}) : Operation(Activate{random_activation(random_)}), {last_},
        extent(last_));
  }

  Random& random_;
  bool valid_;
  bool linear_;
  Copies copies_;
  PaddedNetwork net_;
  std::vector<Vec3> extents_;  // per value
  int last_ = 0;
};

bool copies_voxels(const PaddedNetwork& net) {
  for (std::size_t i = 0; i < net.pads.size(); ++i) {
    if (std::holds_alternative<Crop>(net.network.nodes[i].operation) && net.pads[i] != Border{}) return true;
  }
  return false;
}

bool interpolates(const Network& network) {
  return std::any_of(network.nodes.begin(), network.nodes.end(), [](const Node& node) {
    const auto* up = std::get_if<Upsample>(&node.operation);
    return up != nullptr && up->kind == UpsampleKind::linear;
  });
}

}  // namespace

PaddedNetwork random_strided_network(Random& random, bool valid, bool linear) {
  for (;;) {
    StridedGrower grower(random, valid, linear);
    if (!grower.level(random.integer(1, 2))) continue;
    PaddedNetwork net = grower.finish();
    if (linear && !interpolates(net.network)) continue;
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    // Padding may make the output larger than the volume, and a network may end in one that is.
    if (sound && check(sound->network)) return net;
  }
}

PaddedNetwork random_edged_network(Random& random) {
  for (;;) {
    StridedGrower grower(random, false, random.chance(0.3), Copies::edges);
    if (!grower.level(random.integer(0, 2))) continue;
    PaddedNetwork net = grower.finish();
    if (!copies_voxels(net)) continue;
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    if (sound && check(sound->network)) return net;
  }
}

PaddedNetwork random_reflecting_network(Random& random) {
  for (;;) {
    StridedGrower grower(random, false, random.chance(0.3), Copies::reflections);
    if (!grower.level(random.integer(0, 2))) continue;
    PaddedNetwork net = grower.finish();
    if (!copies_voxels(net)) continue;
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    if (sound && check(sound->network)) return net;
  }
}

PaddedNetwork random_coarse_network(Random& random, bool valid) {
  for (;;) {
    StridedGrower grower(random, valid, false);
    if (!grower.level(random.integer(0, 2))) continue;
    grower.coarsen();
    PaddedNetwork net = grower.finish();
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    if (!sound || !check(sound->network)) continue;
    // Without pads and upsamplings a pooling is dense.
    if (sound->network.output_stride == net.output_stride) return net;
  }
}

}  // namespace znni::test
