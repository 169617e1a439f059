#include "planner/network/value_windows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "planner/network/operation_traits.hpp"
#include "planner/network/reading.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_period = std::int64_t{1} << 12;
// Extent of the volume on which windows are found: no network loses as much (2^20), nor makes as many branches.
constexpr std::int64_t large_volume = std::int64_t{1} << 26;

Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

// How a node reads the volume's voxels of its first input.
struct PaddedReading : Reading {
  Border around;  // voxels of padding; negative where a Crop takes some away
};

PaddedReading padded_reading(const Operation& operation, const Border& pads) {
  PaddedReading padded{reading_of(operation), pads};
  // One that pads has all of its window, so that a voxel at the border comes with those that repeat it.
  if (pads != Border{}) return padded;
  padded.window = padded.window - padded.idle.begin - padded.idle.end;
  padded.around = {Vec3{} - padded.idle.begin, Vec3{} - padded.idle.end};
  return padded;
}

// Returns the extent of what the node writes, rounded down as ONNX does.
std::int64_t extent_after(const PaddedReading& reading, int axis, std::int64_t n) {
  const std::int64_t rest = n + reading.around.begin[axis] + reading.around.end[axis] - reading.window[axis];
  return (floor_div(rest, reading.stride[axis]) + 1) * reading.factor[axis];
}

bool leaves_rest(const PaddedReading& reading, int axis, std::int64_t n) {
  const std::int64_t rest = n + reading.around.begin[axis] + reading.around.end[axis] - reading.window[axis];
  return rest % reading.stride[axis] != 0;
}

// Returns what it has to read so that voxels [begin, end) can be written.
ValueWindow demand(const PaddedReading& reading, const ValueWindow& written) {
  ValueWindow read;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t first = floor_div(written.begin[axis], reading.factor[axis]);
    const std::int64_t last = ceil_div(written.end[axis], reading.factor[axis]) - 1;
    read.begin[axis] = first * reading.stride[axis] - reading.around.begin[axis];
    read.end[axis] = last * reading.stride[axis] - reading.around.begin[axis] + reading.window[axis];
  }
  return read;
}

// Returns the window that is written for `asked`: an upsampling writes whole voxels of its input.
ValueWindow written_for(const PaddedReading& reading, ValueWindow asked) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t factor = reading.factor[axis];
    asked.begin[axis] = floor_div(asked.begin[axis], factor) * factor;
    asked.end[axis] = ceil_div(asked.end[axis], factor) * factor;
  }
  return asked;
}

ValueWindow hull(const ValueWindow& a, const ValueWindow& b) { return {min(a.begin, b.begin), max(a.end, b.end)}; }

class Finder {
 public:
  Finder(const Network& network, const std::vector<Border>& pads) : network_(network) {
    for (std::size_t i = 0; i < network.nodes.size(); ++i) {
      readings_.push_back(padded_reading(network.nodes[i].operation, pads[i]));
      const Operation& operation = network.nodes[i].operation;
      const std::optional<OutsideKind> kind = traits_of(operation).pads_with;
      const bool copies = kind == OutsideKind::edge || kind == OutsideKind::reflect;
      pads_ = pads_ || (pads[i] != Border{} && !copies);
    }
  }

  // Finds the strides of every value, and the period in which they all come together. Returns the output's stride.
  Result<Vec3> find_strides() {
    strides_ = {Vec3::cube(1)};
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      if (Result<void> added = add_stride(i); !added) return added.error().within("node " + network_.nodes[i].name);
    }
    return strides_.back();
  }

  // Returns a value's stride. Requires find_strides().
  [[nodiscard]] Vec3 stride_of(int value) const { return strides_[index(value)]; }

  // Returns the extents of every value for the first large volume for which branches meet.
  Result<std::vector<Vec3>> find_extents(Vec3 declared) const {
    std::vector<Vec3> extents(network_.nodes.size() + 1);
    for (int axis = 0; axis < 3; ++axis) {
      const Result<std::vector<std::int64_t>> along = extents_along(axis, declared[axis]);
      if (!along) return along.error();
      for (std::size_t value = 0; value < extents.size(); ++value) extents[value][axis] = (*along)[value];
    }
    return extents;
  }

  std::vector<ValueWindow> find_windows(const std::vector<Vec3>& extents) const {
    std::vector<std::optional<ValueWindow>> asked(extents.size());
    asked.back() = ValueWindow{{}, extents.back()};
    for (std::size_t i = network_.nodes.size(); i-- > 0;) {
      // What is normalised or pooled as a whole is read, and so written, as a whole.
      if (reads_all_voxels(network_.nodes[i].operation)) hull_with_whole(asked[i + 1], extents[i + 1]);
      const ValueWindow written = written_for(readings_[i], asked[i + 1].value_or(ValueWindow{{}, extents[i + 1]}));
      asked[i + 1] = written;
      const std::vector<int>& inputs = network_.nodes[i].inputs;
      for (std::size_t input = 0; input < inputs.size(); ++input) {
        std::optional<ValueWindow>& hulled = asked[index(inputs[input])];
        const ValueWindow read = input == 0 ? demand(readings_[i], written) : written;
        hulled = hulled ? hull(*hulled, read) : read;
      }
    }
    std::vector<ValueWindow> windows;
    for (const std::optional<ValueWindow>& window : asked) windows.push_back(window.value_or(ValueWindow{}));
    windows.front() = hull(windows.front(), {{}, extents.front()});  // the volume is read as a whole
    return windows;
  }

 private:
  static void hull_with_whole(std::optional<ValueWindow>& asked, Vec3 extent) {
    const ValueWindow whole{{}, extent};
    asked = asked ? hull(*asked, whole) : whole;
  }

  Result<void> add_stride(std::size_t number) {
    const Node& node = network_.nodes[number];
    const Vec3 in = strides_[index(node.inputs.front())];
    const PaddedReading& reading = readings_[number];
    const Vec3 coarse = in * reading.stride;
    if (coarse % reading.factor != Vec3{}) {
      return unsupported("upsamples by " + to_string(reading.factor) + ", but its input has a stride of " +
                         to_string(in) + ": an output finer than the input is not supported");
    }
    for (const int input : node.inputs) {
      if (input == node.inputs.front() || strides_[index(input)] == in) continue;
      if (std::holds_alternative<Convolution>(node.operation)) continue;  // the residual has its output's stride
      return unsupported("branches do not meet: one has a stride of " + to_string(in) + ", another " +
                         to_string(strides_[index(input)]));
    }
    strides_.push_back(coarse / reading.factor);
    for (int axis = 0; axis < 3; ++axis) {
      period_[axis] = std::lcm(period_[axis], std::max(coarse[axis], strides_.back()[axis]));
      if (period_[axis] > max_period) return unsupported("the strides come together beyond 2^12 voxels");
    }
    return {};
  }

  // Returns the extents of the values along one axis, for a volume of extent n. Fails if branches do not meet, or one
  // is empty; if `exact`, also if a stride leaves voxels unread.
  Result<std::vector<std::int64_t>> walk(int axis, std::int64_t n, bool exact) const {
    std::vector<std::int64_t> extents = {n};
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
      const std::vector<int>& inputs = network_.nodes[i].inputs;
      const std::int64_t written = extent_after(readings_[i], axis, extents[index(inputs.front())]);
      if (exact && leaves_rest(readings_[i], axis, extents[index(inputs.front())])) {
        return unsupported("leaves voxels unread").within("node " + network_.nodes[i].name);
      }
      for (std::size_t input = 1; input < inputs.size(); ++input) {
        const std::int64_t other = extents[index(inputs[input])];
        if (other == written) continue;
        return unsupported("branches do not meet: of a volume of " + std::to_string(n) + " voxels along " +
                           std::string(1, "zyx"[axis]) + ", one has " + lost_text(n - written) + ", another " +
                           lost_text(n - other))
            .within("node " + network_.nodes[i].name);
      }
      extents.push_back(written);
    }
    return extents;
  }

  static std::string lost_text(std::int64_t lost) {
    return lost >= 0 ? std::to_string(lost) + " less" : std::to_string(-lost) + " more";
  }

  Result<std::vector<std::int64_t>> extents_along(int axis, std::int64_t declared) const {
    const std::int64_t period = period_[axis];
    const std::int64_t base = round_up(large_volume, period);
    Result<std::vector<std::int64_t>> first = walk(axis, base + declared % period, false);
    if (first && declared > 0) return first;
    // Without pads extents of which all is read come first, so that a valid network stays as it is.
    for (const bool exact : {true, false}) {
      for (std::int64_t residue = 0; residue < period && !(exact && pads_); ++residue) {
        Result<std::vector<std::int64_t>> other = walk(axis, base + residue, exact);
        if (other) return other;
      }
    }
    return first;
  }

  const Network& network_;
  std::vector<PaddedReading> readings_;  // per node
  std::vector<Vec3> strides_;            // per value
  Vec3 period_ = Vec3::cube(1);
  bool pads_ = false;  // a convolution or a pooling does
};

}  // namespace

Border ValueWindows::frame() const { return {Vec3{} - values.front().begin, values.front().end - extents.front()}; }

ValueWindow ValueWindows::read_by(const Network& network, const std::vector<Border>& pads, int number,
                                  int input) const {
  const ValueWindow& written = values[index(number) + 1];
  if (input > 0) return written;
  return demand(padded_reading(network.nodes[index(number)].operation, pads[index(number)]), written);
}

Result<Vec3> find_output_stride(const Network& network, const std::vector<Border>& pads) {
  return Finder(network, pads).find_strides();
}

Result<std::vector<Vec3>> find_joined_strides(const Network& network, const std::vector<Border>& pads) {
  const Node& join = network.nodes.back();
  if (!std::holds_alternative<Concat>(join.operation) || join.inputs.size() != network.outputs.size()) {
    return std::vector<Vec3>();
  }
  Network before = network;
  before.nodes.pop_back();
  Finder finder(before, pads);
  if (const Result<Vec3> last = finder.find_strides(); !last) return last.error();
  std::vector<Vec3> joined;
  for (const int input : join.inputs) joined.push_back(finder.stride_of(input));
  return joined;
}

Result<ValueWindows> find_windows(const Network& network, const std::vector<Border>& pads, Vec3 declared) {
  Finder finder(network, pads);
  const Result<Vec3> stride = finder.find_strides();
  if (!stride) return stride.error();
  ensure(*stride == Vec3::cube(1), "an output without a stride");
  Result<std::vector<Vec3>> extents = finder.find_extents(declared);
  if (!extents) return extents.error();
  std::vector<ValueWindow> windows = finder.find_windows(*extents);
  return ValueWindows{*std::move(extents), std::move(windows)};
}

}  // namespace znni
