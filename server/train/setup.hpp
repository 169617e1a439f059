// What a training's configuration means for the network that it trains: samples, memory, identity.
#pragma once

#include <cstdint>
#include <string>

#include "proto/convert/text/train_config.hpp"
#include "server/train/loss/logits.hpp"
#include "server/train/samples/labelled_volume.hpp"
#include "server/train/samples/sampler.hpp"

namespace znni {

// Bytes of RAM that a training holds besides those of its step (StepMemory, which has weights and gradients) and its
// volumes.
struct TrainingMemory {
  std::int64_t process = 0;    // code, libraries, thread stacks
  std::int64_t optimizer = 0;  // its state
  std::int64_t copies = 0;     // of weights and state while a checkpoint is read or written, or the model is written
  std::int64_t samples = 0;    // of one step, while it is used, and of the next, while it is made
  [[nodiscard]] std::int64_t total() const {
    return znni::add(znni::add(process, optimizer), znni::add(copies, samples));
  }
};

// `input`, `output`: of the network, S = 1.
[[nodiscard]] TrainingMemory training_memory(const OptimizerSettings& optimizer, std::int64_t weight_bytes,
                                             const Shape5& input, const Shape5& output);

// Returns the voxels that the network makes of a patch. Fails if the network cannot be trained (check_trainable()), or
// if the patch is smaller than the field of view; the error has both numbers.
[[nodiscard]] Result<Vec3> output_of_patch(const Network& network, Vec3 patch);

// Returns how many voxels of the dense output lie between two that the loss compares. Fails if the configuration is
// sparse, and the network has no pooling whose offsets could be left out.
[[nodiscard]] Result<Vec3> compared_stride(const Network& network, const TrainConfig& config);

[[nodiscard]] SampleOptions sample_options(const TrainConfig& config, std::int64_t f_in, Vec3 output);
[[nodiscard]] TargetKind target_kind(TrainTargets targets);
[[nodiscard]] std::vector<VolumeNames> names_of(const std::vector<TrainVolume>& volumes);

// Opens the volumes, in memory if `options` keep them and they take no more than `max_bytes`, else to be read patch by
// patch; what balanced sampling keeps must fit into that in both cases.
[[nodiscard]] Result<std::unique_ptr<VolumeSamples>> open_within(const std::vector<TrainVolume>& volumes,
                                                                 SampleOptions options, std::int64_t max_bytes);

// Labelled volumes, and the bytes that are kept of them.
struct OpenVolumes {
  std::vector<LabelledVolume> volumes;
  std::int64_t bytes = 0;
};

// Opens the volumes of a validation, for a network that reads so many channels, as open_within() does; `keeps`: as
// SampleOptions::keeps_volumes.
[[nodiscard]] Result<OpenVolumes> open_validation_within(const std::vector<TrainVolume>& volumes, std::int64_t channels,
                                                         std::int64_t max_bytes, bool keeps);

// Fails if the targets have another number of channels than the loss wants; the error says what would be right.
[[nodiscard]] Result<void> check_target_channels(TrainTargets targets, const Loss& loss, std::int64_t network_channels);

// Returns a fingerprint of the network, its first weights and the configuration: trainings of one fingerprint do the
// same steps.
[[nodiscard]] std::string training_fingerprint(const TrainedNetwork& trained, const TrainConfig& config);

}  // namespace znni
