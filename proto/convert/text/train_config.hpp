// Reads how a network is trained: proto/train.proto, which says what each field means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni {

enum class LossKind { binary_cross_entropy, softmax_cross_entropy, square, dice };
enum class OptimizerKind { sgd, adam, adamw };
enum class TrainTargets { labels, boundaries, affinities };
enum class TrainSampling { uniform, balanced };

struct LossSettings {
  LossKind kind = LossKind::binary_cross_entropy;
  std::vector<double> class_weights;  // of a cross-entropy; none: all are 1
};

struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;
  double momentum = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::optional<double> clip_norm = {};
};

struct LearningRate {
  double peak = 0;
  std::int64_t warm_up_steps = 0;
  bool cosine = false;
};

struct TrainVolume {
  std::string input;
  std::string labels;
  std::string mask;          // "": all voxels are labelled
  std::string weights = {};  // "": each voxel counts 1
};

struct AugmentationSettings {
  bool symmetries = false;
  double contrast = 0;
  double brightness = 0;
  double missing_planes = 0;
  double blurred_planes = 0;
};

struct TrainConfig {
  std::int64_t steps = 0;
  Vec3 patch;
  std::uint64_t seed = 1;
  std::vector<TrainVolume> volumes;
  std::vector<TrainVolume> validation;
  double input_scale = 1;
  double input_offset = 0;
  TrainTargets targets = TrainTargets::labels;
  LossSettings loss;
  OptimizerSettings optimizer;
  LearningRate rate;
  TrainSampling sampling = TrainSampling::uniform;
  AugmentationSettings augmentation;
  std::int64_t checkpoint_steps = 100;
  std::int64_t validation_steps = 500;
  bool is_sparse = false;   // poolings keep the first of their offsets, and the loss compares the output there
  bool keeps_best = false;  // the weights of the best validation become a version of the model, too
  std::string text;         // of all fields that the file sets, in order, without comments: equal for equal trainings
};

// Parses the text of a train.pbtxt. The error names the line or the field, what was found and what is right.
[[nodiscard]] Result<TrainConfig> parse_train_config(std::string_view text);

// Reads the file. Every error begins with the path. Fails with not_found if there is no file.
[[nodiscard]] Result<TrainConfig> read_train_config(const std::string& path);

// Return the words of the file: "softmax_cross_entropy", "adamw".
[[nodiscard]] std::string_view to_string(LossKind kind);
[[nodiscard]] std::string_view to_string(OptimizerKind kind);

}  // namespace znni
