#include "planner/network/sound_voxels.hpp"

#include <algorithm>
#include <numeric>

#include "planner/network/operation_traits.hpp"
#include "planner/network/reading.hpp"

namespace znni {
namespace {

const Border& beyond_of(const Network& network, int value) {
  return value == 0 ? network.frame : network.nodes[index(value - 1)].beyond;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Vec3 floor_div(Vec3 a, Vec3 b) { return {floor_div(a.z, b.z), floor_div(a.y, b.y), floor_div(a.x, b.x)}; }
Vec3 ceil_div(Vec3 a, Vec3 b) { return Vec3{} - floor_div(Vec3{} - a, b); }

Border max(const Border& a, const Border& b) { return {max(a.begin, b.begin), max(a.end, b.end)}; }
Border min(const Border& a, const Border& b) { return {min(a.begin, b.begin), min(a.end, b.end)}; }

// Returns the voxels that the node cannot write without padding, of an input that lacks `lost`.
Border lost_behind(const FileReading& reading, const Border& lost) {
  const auto along = [&](Vec3 of_input, Vec3 pads) {
    return max(ceil_div(of_input + pads, reading.stride), Vec3{}) * reading.factor;
  };
  return {along(lost.begin, reading.pads.begin), along(lost.end, reading.pads.end)};
}

// Returns what the node need not read if what it writes lacks `lost`.
Border lost_before(const FileReading& reading, const Border& lost) {
  const auto along = [&](Vec3 of_output, Vec3 pads) {
    return floor_div(of_output, reading.factor) * reading.stride - pads;
  };
  return {along(lost.begin, reading.pads.begin), along(lost.end, reading.pads.end)};
}

bool pads_anywhere(const Border& pads) { return max(max(pads.begin, pads.end), Vec3{}) != Vec3{}; }

bool is_shuffle(const Node& node) {
  const auto* up = std::get_if<Upsample>(&node.operation);
  return up != nullptr && up->kind == UpsampleKind::shuffle;
}

// Returns whether the convolution reads one voxel, and writes each of its channels as it is.
bool copies(const Convolution& conv, const NodeWeights& weights) {
  if (conv.k != Vec3::cube(1) || conv.stride != Vec3::cube(1) || !weights.bias.empty()) return false;
  const std::int64_t f = conv.f_out / conv.groups;  // of a group
  if (static_cast<std::int64_t>(weights.kernels.size()) != conv.f_out * f) return false;
  for (std::int64_t i = 0; i < conv.f_out * f; ++i) {
    const float wanted = i % f == i / f % f ? 1 : 0;
    if (weights.kernels[static_cast<std::size_t>(i)] != wanted) return false;
  }
  return conv.activation.kind == ActivationKind::none;
}

}  // namespace

FileReading file_reading(const Network& network, int number) {
  const Node& node = network.nodes[index(number)];
  const Border& in = beyond_of(network, node.inputs.front());
  const Border& out = node.beyond;
  if (const auto* crop = std::get_if<Crop>(&node.operation); crop != nullptr) {
    return {Vec3::cube(1), Vec3::cube(1), {in.begin - crop->begin - out.begin, in.end - crop->end - out.end}};
  }
  const Reading reading = reading_of(node.operation);
  const auto pads = [&](Vec3 before, Vec3 behind) { return before - reading.stride * (behind / reading.factor); };
  return {reading.stride, reading.factor, {pads(in.begin, out.begin), pads(in.end, out.end)}};
}

SoundVoxels::SoundVoxels(const LoadedNetwork& padded) : network_(padded.network), weights_(padded.weights) {
  for (int i = 0; i < static_cast<int>(network_.nodes.size()); ++i) readings_.push_back(file_reading(network_, i));
  find_outputs();
  find_sound();
  needed_.resize(network_.nodes.size() + 1);
  ask_outputs();
  ask_inputs();
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    const Operation& operation = network_.nodes[i].operation;
    const bool resizes = !std::holds_alternative<Pooling>(operation) && is_resized(reading_of(operation));
    if (resizes && needed_[i + 1]) is_dense_ = false;
  }
}

// Passes over what repeats the voxels of an output, and over crops that padding made.
int SoundVoxels::source_of(int value, bool is_repeated) const {
  while (value > 0) {
    const Node& node = network_.nodes[index(value - 1)];
    const bool is_added = std::holds_alternative<Crop>(node.operation) && readings_[index(value - 1)].pads == Border{};
    const bool repeats = is_repeated && std::holds_alternative<Upsample>(node.operation);
    if (!is_added && !repeats) break;
    if (repeats) is_repeated = false;
    value = node.inputs.front();
  }
  return value;
}

void SoundVoxels::find_outputs() {
  const bool is_repeated = network_.output_stride != Vec3::cube(1);
  const int last = source_of(static_cast<int>(network_.nodes.size()), is_repeated);
  outputs_ = {last};
  if (network_.outputs.empty()) return;
  join_ = last - 1;
  ensure(std::holds_alternative<Concat>(network_.nodes[index(join_)].operation), "a node that joins outputs");
  outputs_.clear();
  const std::vector<int>& joined = network_.nodes[index(join_)].inputs;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    outputs_.push_back(source_of(joined[i], network_.outputs[i].stride != Vec3::cube(1)));
  }
}

void SoundVoxels::find_sound() {
  sound_ = {Border{}};
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    const std::vector<int>& inputs = network_.nodes[i].inputs;
    Border lost = lost_behind(readings_[i], sound_[index(inputs.front())]);
    for (std::size_t input = 1; input < inputs.size(); ++input) lost = max(lost, sound_[index(inputs[input])]);
    sound_.push_back(lost);
  }
}

Vec3 SoundVoxels::stride_of_output(std::size_t number) const {
  return network_.outputs.empty() ? Vec3::cube(1) : network_.outputs[number].stride;
}

// Outputs of several resolutions lose whole voxels of the coarsest.
void SoundVoxels::ask_outputs() {
  Vec3 coarsest = Vec3::cube(1);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Vec3 stride = stride_of_output(i);
    for (int axis = 0; axis < 3; ++axis) coarsest[axis] = std::lcm(coarsest[axis], stride[axis]);
  }
  Border lost;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Border& own = sound_[index(outputs_[i])];
    const Vec3 stride = stride_of_output(i);
    lost = max(lost, {own.begin * stride, own.end * stride});
  }
  lost = {ceil_div(lost.begin, coarsest) * coarsest, ceil_div(lost.end, coarsest) * coarsest};
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    of_outputs_.push_back({lost.begin / stride_of_output(i), lost.end / stride_of_output(i)});
    ask(outputs_[i], of_outputs_.back());
  }
}

void SoundVoxels::ask(int value, const Border& lost) {
  std::optional<Border>& needed = needed_[index(value)];
  needed = needed ? min(*needed, lost) : lost;
}

void SoundVoxels::ask_inputs() {
  for (int i = static_cast<int>(network_.nodes.size()) - 1; i >= 0; --i) {
    std::optional<Border>& own = needed_[index(i) + 1];
    if (!own) continue;
    const Vec3 factor = readings_[index(i)].factor;
    own = Border{floor_div(own->begin, factor) * factor, floor_div(own->end, factor) * factor};
    const std::vector<int>& inputs = network_.nodes[index(i)].inputs;
    ask(inputs.front(), read_by(i));
    for (std::size_t input = 1; input < inputs.size(); ++input) ask(inputs[input], *own);
  }
}

Border SoundVoxels::read_by(int number) const {
  return lost_before(readings_[index(number)], *needed_[index(number) + 1]);
}

bool SoundVoxels::only_pads(int number) const {
  const auto* conv = std::get_if<Convolution>(&network_.nodes[index(number)].operation);
  if (conv == nullptr || weights_.empty() || !pads_anywhere(readings_[index(number)].pads)) return false;
  return network_.nodes[index(number)].inputs.size() == 1 && copies(*conv, weights_[index(number)]);
}

bool SoundVoxels::keeps_pads(int number) const {
  const Node& node = network_.nodes[index(number)];
  const Border& pads = readings_[index(number)].pads;
  if (!pads_anywhere(pads)) return false;
  if (std::holds_alternative<Upsample>(node.operation)) return true;
  const auto* conv = std::get_if<Convolution>(&node.operation);
  if (conv == nullptr || node.inputs.size() != 1 || conv->groups != 1) return false;
  if (conv->stride != Vec3::cube(1) || conv->dilation != Vec3::cube(1)) return false;
  const Vec3 around = conv->k - Vec3::cube(1);
  const std::vector<int> readers = readers_of(network_, number + 1);
  return pads == Border{around, around} && readers.size() == 1 && is_shuffle(network_.nodes[index(readers.front())]);
}

bool SoundVoxels::shuffles_kept(int number) const {
  const Node& node = network_.nodes[index(number)];
  return is_shuffle(node) && node.inputs.front() > 0 && keeps_pads(node.inputs.front() - 1);
}

// The output of the padded network begins with the first voxel that it writes: none stands before it.
Border SoundVoxels::moved() const {
  if (!is_dense_) return {};
  const Vec3 stride = network_.output_stride;
  Border moved{needed(0).begin % stride, needed(0).end % stride};
  const Vec3 lost = of_outputs_.front().begin;
  for (int axis = 0; axis < 3; ++axis) {
    if (lost[axis] == 0) moved.begin[axis] = 0;
  }
  return moved;
}

Vec3 SoundVoxels::first() const {
  return of_outputs_.front().begin * stride_of_output(0) * network_.output_stride - moved().begin;
}

}  // namespace znni
