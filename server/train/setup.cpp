#include "server/train/setup.hpp"

#include <algorithm>
#include <utility>

#include "planner/base/fingerprint.hpp"
#include "planner/train/trainable.hpp"
#include "server/train/optimizer.hpp"
#include "server/train/weight_parts.hpp"

namespace znni {
namespace {

constexpr std::int64_t process_bytes = std::int64_t{64} << 20;
// While the model is written there are the served weights, and three times them of its writer
// (proto/convert/onnx/writer/onnx_writer.hpp).
constexpr std::int64_t copies_while_written = 4;
// While a sample is made there are its voxels as read, as numbers, and turned; of labels 8 bytes, known or not, their
// weight and that of the target, and target and weight twice. While voxels are read there is a plane of them besides,
// as it is read and as it is in the file, which may have 8 bytes for each.
constexpr std::int64_t bytes_per_input = 3 * sizeof(float);
constexpr std::int64_t bytes_per_read = sizeof(float);
constexpr std::int64_t bytes_per_plane = sizeof(float) + sizeof(double);
constexpr std::int64_t bytes_per_label = 2 * (sizeof(std::uint64_t) + 1 + 2 * sizeof(float));
constexpr std::int64_t bytes_per_target = 2 * sizeof(float);

// Returns the bytes of the input of a sample, while it is made.
std::int64_t input_in_the_making(const Shape5& input) {
  const std::int64_t plane = mul(input.f, mul(input.n.y, input.n.x));
  const std::int64_t reading = add(mul(bytes_per_read, elements(input)), mul(bytes_per_plane, plane));
  return std::max(mul(bytes_per_input, elements(input)), reading);
}

// Returns the bytes of the sample of a step, while that of the next is made.
std::int64_t sample_in_use(const Shape5& input, const Shape5& output) {
  return mul(sizeof(float), add(elements(input), add(elements(output), voxels(output.n))));
}

}  // namespace

TrainingMemory training_memory(const OptimizerSettings& optimizer, std::int64_t weight_bytes, const Shape5& input,
                               const Shape5& output) {
  const std::int64_t state = Optimizer::state_bytes(optimizer, weight_bytes);
  TrainingMemory memory;
  memory.process = process_bytes;
  memory.optimizer = state;
  memory.copies = std::max(mul(2, add(weight_bytes, state)), mul(copies_while_written, weight_bytes));
  const std::int64_t labels = mul(bytes_per_label, voxels(output.n + Vec3::cube(2 * target_margin)));
  const std::int64_t targets = mul(bytes_per_target, elements(output));
  const std::int64_t made = add(input_in_the_making(input), add(labels, targets));
  memory.samples = add(made, sample_in_use(input, output));
  return memory;
}

Result<Vec3> output_of_patch(const Network& network, Vec3 patch) {
  if (const Result<void> trainable = check_trainable(network); !trainable) return trainable.error();
  const Vec3 lost = lost_extent(network);
  if (covers(patch, lost)) return patch - lost + Vec3::cube(1);
  return Error{ErrorCode::invalid_argument, "patch is " + to_string(patch) + ", smaller than the field of view, " +
                                                to_string(lost) + "; make it larger"};
}

Result<Vec3> compared_stride(const Network& network, const TrainConfig& config) {
  if (!config.is_sparse) return Vec3::cube(1);
  const Vec3 stride = reaches(network).back().stride;
  if (stride != Vec3::cube(1)) return stride;
  return Error{ErrorCode::invalid_argument,
               "network " + network.name +
                   " has an output for each voxel, and no pooling whose offsets could be left "
                   "out; leave out sparse"};
}

SampleOptions sample_options(const TrainConfig& config, std::int64_t f_in, Vec3 output) {
  SampleOptions options;
  options.seed = config.seed;
  options.f_in = f_in;
  options.patch = config.patch;
  options.output = output;
  options.input_scale = static_cast<float>(config.input_scale);
  options.input_offset = static_cast<float>(config.input_offset);
  options.targets = target_kind(config.targets);
  options.class_weights = config.loss.class_weights;
  options.sampling = config.sampling == TrainSampling::balanced ? Sampling::balanced : Sampling::uniform;
  const AugmentationSettings& given = config.augmentation;
  options.augmentation = {given.symmetries, given.contrast, given.brightness, given.missing_planes,
                          given.blurred_planes};
  return options;
}

TargetKind target_kind(TrainTargets targets) {
  switch (targets) {
    case TrainTargets::labels: return TargetKind::classes;
    case TrainTargets::boundaries: return TargetKind::boundaries;
    case TrainTargets::affinities: return TargetKind::affinities;
  }
  return TargetKind::classes;
}

std::vector<VolumeNames> names_of(const std::vector<TrainVolume>& volumes) {
  std::vector<VolumeNames> names;
  for (const TrainVolume& each : volumes) names.push_back({each.input, each.labels, each.mask, each.weights});
  return names;
}

Result<std::unique_ptr<VolumeSamples>> open_within(const std::vector<TrainVolume>& volumes, SampleOptions options,
                                                   std::int64_t max_bytes) {
  options.max_bytes = max_bytes;
  Result<std::unique_ptr<VolumeSamples>> opened = open_samples(names_of(volumes), options);
  if (opened || !options.keeps_volumes || opened.error().code != ErrorCode::over_budget) return opened;
  options.keeps_volumes = false;
  return open_samples(names_of(volumes), options);
}

Result<OpenVolumes> open_validation_within(const std::vector<TrainVolume>& volumes, std::int64_t channels,
                                           std::int64_t max_bytes, bool keeps) {
  VolumeMemory memory{keeps, max_bytes, 0};
  Result<std::vector<LabelledVolume>> opened = open_volumes(names_of(volumes), channels, memory);
  if (!opened && keeps && opened.error().code == ErrorCode::over_budget) {
    memory = {false, max_bytes, 0};
    opened = open_volumes(names_of(volumes), channels, memory);
  }
  if (!opened) return opened.error();
  return OpenVolumes{*std::move(opened), memory.bytes};
}

Result<void> check_target_channels(TrainTargets targets, const Loss& loss, std::int64_t network_channels) {
  const std::int64_t found = target_channels(target_kind(targets));
  if (found == loss.target_channels()) return {};
  const std::string right = targets == TrainTargets::affinities
                                ? "one with 3 output channels is right for affinities"
                                : "one with 1 is right, or the loss softmax_cross_entropy for classes";
  return Error{ErrorCode::invalid_argument, "the network writes " + std::to_string(network_channels) +
                                                " channels, and the targets have " + std::to_string(found) + "; " +
                                                right};
}

std::string training_fingerprint(const TrainedNetwork& trained, const TrainConfig& config) {
  Fingerprint fingerprint;
  fingerprint.add(config.text);
  for (const std::string& line : describe(trained.served)) fingerprint.add(line);
  for (const NodeWeights& node : trained.loaded.weights) {
    for (const auto part : weight_parts) fingerprint.add(std::as_bytes(std::span(node.*part)));
  }
  return fingerprint.text();
}

}  // namespace znni
