#include "proto/convert/text/train_config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/extents.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/base/text_format.hpp"
#include "proto/train.pb.h"

namespace znni {
namespace {

// The file's enums have the order of ours.
static_assert(static_cast<int>(LossKind::dice) == text::TrainLoss::dice);
static_assert(static_cast<int>(OptimizerKind::adamw) == text::TrainOptimizer::adamw);
static_assert(static_cast<int>(TrainTargets::affinities) == text::TrainConfig::affinities);
static_assert(static_cast<int>(TrainSampling::balanced) == text::TrainConfig::balanced);

Error wrong(std::string_view field, std::string_view found, std::string_view right) {
  return {ErrorCode::invalid_argument,
          std::string(field) + " is " + std::string(found) + "; " + std::string(right) + " is right"};
}

Error missing(std::string_view field, std::string_view right) {
  return {ErrorCode::invalid_argument, std::string(field) + " is missing; " + std::string(right) + " is right"};
}

std::string text_of(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// A field with the range of its numbers.
struct Numbers {
  std::string_view field;
  double value = 0;
  double from = 0;
  double to = std::numeric_limits<double>::max();  // included
  std::string_view right;
};

Result<void> check_numbers(std::initializer_list<Numbers> all) {
  for (const Numbers& each : all) {
    if (!(each.value >= each.from && each.value <= each.to)) return wrong(each.field, text_of(each.value), each.right);
  }
  return {};
}

constexpr double below_1 = 1.0 - 0x1p-53;
constexpr double above_0 = std::numeric_limits<double>::min();
constexpr double finite = std::numeric_limits<double>::max();
constexpr std::string_view a_share = "a number from 0 to below 1";
constexpr std::string_view a_probability = "a probability, 0 to 1,";
constexpr std::string_view positive = "a finite number above 0";
constexpr std::string_view not_negative = "a finite number of at least 0";
constexpr std::string_view a_count = "a whole number of at least 1";
constexpr std::int64_t max_steps = std::int64_t{1} << 40;

Result<void> check_count(std::string_view field, std::int64_t value) {
  if (value >= 1 && value <= max_steps) return {};
  return wrong(field, std::to_string(value), a_count);
}

template <class Volumes>
Result<std::vector<TrainVolume>> volumes_of(std::string_view field, const Volumes& messages) {
  std::vector<TrainVolume> volumes;
  for (const text::TrainVolume& each : messages) {
    const std::string place = std::string(field) + " " + std::to_string(volumes.size() + 1) + ": ";
    if (each.input().empty()) return missing(place + "input", "FILE.h5:/dataset, FILE.npy or FILE.tif");
    if (each.labels().empty()) return missing(place + "labels", "FILE.h5:/dataset, FILE.npy or FILE.tif");
    volumes.push_back({each.input(), each.labels(), each.mask(), each.weights()});
  }
  return volumes;
}

Result<void> read_loss(const text::TrainConfig& message, TrainConfig& config) {
  const text::TrainLoss& loss = message.loss();
  if (!loss.has_kind()) return missing("loss: kind", "binary_cross_entropy, softmax_cross_entropy, square or dice");
  LossSettings& settings = config.loss;
  settings.kind = static_cast<LossKind>(loss.kind());
  settings.class_weights.assign(loss.class_weight().begin(), loss.class_weight().end());
  const std::vector<double>& weights = settings.class_weights;
  for (const double weight : weights) {
    const Result<void> sound = check_numbers({{"loss: class_weight", weight, 0, finite, not_negative}});
    if (!sound) return sound;
  }
  const std::string count = "a list of " + std::to_string(weights.size()) + " numbers";
  const bool is_binary = settings.kind == LossKind::binary_cross_entropy;
  if (is_binary && !weights.empty() && weights.size() != 2) {
    return wrong("loss: class_weight", count, "one number for class 0 and one for class 1, [1, 2],");
  }
  const bool takes = is_binary || settings.kind == LossKind::softmax_cross_entropy;
  if (!takes && !weights.empty()) return wrong("loss: class_weight", count, "none, or the kind of a cross-entropy");
  if (!weights.empty() && *std::max_element(weights.begin(), weights.end()) == 0) {
    return wrong("loss: class_weight", "0 for every class", "a weight above 0 for one of them");
  }
  return {};
}

Result<void> check_optimizer(const text::TrainOptimizer& given) {
  const double no_clip = 1;
  return check_numbers({
      {"optimizer: learning_rate", given.learning_rate(), above_0, finite, positive},
      {"optimizer: momentum", given.momentum(), 0, below_1, a_share},
      {"optimizer: beta1", given.beta1(), 0, below_1, a_share},
      {"optimizer: beta2", given.beta2(), 0, below_1, a_share},
      {"optimizer: epsilon", given.epsilon(), above_0, finite, positive},
      {"optimizer: weight_decay", given.weight_decay(), 0, finite, not_negative},
      {"optimizer: clip_norm", given.has_clip_norm() ? given.clip_norm() : no_clip, above_0, finite, positive},
  });
}

// Fails for fields that the kind does not use, because a number without effect is a mistake.
Result<void> check_fields_of_kind(const text::TrainOptimizer& given) {
  const bool is_sgd = given.kind() == text::TrainOptimizer::sgd;
  if (!is_sgd && given.has_momentum()) {
    return wrong("optimizer: momentum", text_of(given.momentum()) + " beside adam or adamw", "beta1");
  }
  if (is_sgd && (given.has_beta1() || given.has_beta2() || given.has_epsilon())) {
    return wrong("optimizer: kind", "sgd beside beta1, beta2 or epsilon", "momentum, or adam or adamw,");
  }
  return {};
}

Result<void> read_optimizer(const text::TrainConfig& message, TrainConfig& config) {
  const text::TrainOptimizer& given = message.optimizer();
  if (!given.has_kind()) return missing("optimizer: kind", "sgd, adam or adamw");
  if (!given.has_learning_rate()) return missing("optimizer: learning_rate", positive);
  if (const Result<void> sound = check_optimizer(given); !sound) return sound;
  if (const Result<void> sound = check_fields_of_kind(given); !sound) return sound;
  if (given.warm_up_steps() < 0 || given.warm_up_steps() > config.steps) {
    return wrong("optimizer: warm_up_steps", std::to_string(given.warm_up_steps()),
                 "a whole number from 0 to steps, " + std::to_string(config.steps) + ",");
  }
  config.optimizer = {static_cast<OptimizerKind>(given.kind()),
                      given.momentum(),
                      given.beta1(),
                      given.beta2(),
                      given.epsilon(),
                      given.weight_decay(),
                      {}};
  if (given.has_clip_norm()) config.optimizer.clip_norm = given.clip_norm();
  config.rate = {given.learning_rate(), given.warm_up_steps(), given.cosine()};
  return {};
}

Result<void> read_augmentation(const text::TrainConfig& message, TrainConfig& config) {
  const text::TrainAugmentation& given = message.augmentation();
  config.augmentation = {given.symmetries(), given.contrast(), given.brightness(), given.missing_planes(),
                         given.blurred_planes()};
  return check_numbers({
      {"augmentation: contrast", given.contrast(), 0, finite, not_negative},
      {"augmentation: brightness", given.brightness(), 0, finite, not_negative},
      {"augmentation: missing_planes", given.missing_planes(), 0, 1, a_probability},
      {"augmentation: blurred_planes", given.blurred_planes(), 0, 1, a_probability},
  });
}

Result<void> read_counts(const text::TrainConfig& message, TrainConfig& config) {
  if (!message.has_steps()) return missing("steps", a_count);
  config.steps = message.steps();
  config.checkpoint_steps = message.checkpoint_steps();
  config.validation_steps = message.validation_steps();
  for (const auto& [field, value] : {std::pair("steps", config.steps),
                                     {"checkpoint_steps", config.checkpoint_steps},
                                     {"validation_steps", config.validation_steps}}) {
    if (const Result<void> sound = check_count(field, value); !sound) return sound;
  }
  return {};
}

Result<void> read_patch(const text::TrainConfig& message, TrainConfig& config) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (message.patch().empty()) return missing("patch", "voxels along each axis, 80 or [40, 80, 80],");
  const std::vector<std::int64_t> values(message.patch().begin(), message.patch().end());
  const Result<Vec3> patch = extent_of("patch", values, 3);
  if (!patch) return patch.error();
  if (!covers(*patch, Vec3::cube(1)) || !covers(Vec3::cube(most), *patch)) {
    return wrong("patch", to_string(*patch), "1 to 2^20 voxels along each axis");
  }
  config.patch = *patch;
  return {};
}

Result<void> read_data(const text::TrainConfig& message, TrainConfig& config) {
  Result<std::vector<TrainVolume>> volumes = volumes_of("volume", message.volume());
  if (!volumes) return volumes.error();
  if (volumes->empty()) return missing("volume", R"(volume { input: "a.h5:/raw" labels: "a.h5:/labels" })");
  Result<std::vector<TrainVolume>> validation = volumes_of("validation", message.validation());
  if (!validation) return validation.error();
  config.volumes = *std::move(volumes);
  config.validation = *std::move(validation);
  config.keeps_best = message.keep() == text::TrainConfig::best;
  if (config.keeps_best && config.validation.empty()) {
    return wrong("keep", "best without a validation", "last, or validation { input: ... labels: ... } beside it,");
  }
  config.input_scale = message.input_scale();
  config.input_offset = message.input_offset();
  config.targets = static_cast<TrainTargets>(message.targets());
  config.sampling = static_cast<TrainSampling>(message.sampling());
  config.is_sparse = message.sparse();
  if (!std::isfinite(config.input_scale) || config.input_scale == 0) {
    return wrong("input_scale", text_of(config.input_scale), "a finite number other than 0");
  }
  if (!std::isfinite(config.input_offset)) {
    return wrong("input_offset", text_of(config.input_offset), "a finite number");
  }
  return {};
}

// Fails if loss and targets do not go together.
Result<void> check_targets(const TrainConfig& config) {
  if (config.targets != TrainTargets::affinities || config.loss.kind != LossKind::softmax_cross_entropy) return {};
  return wrong("loss: kind", "softmax_cross_entropy, which wants one class per voxel, of which affinities have three",
               "binary_cross_entropy");
}

}  // namespace

Result<TrainConfig> parse_train_config(std::string_view text) {
  text::TrainConfig message;
  if (const Result<void> parsed = parse_text(text, message); !parsed) return parsed.error();
  TrainConfig config;
  for (const auto read : {read_counts, read_patch, read_data, read_loss, read_optimizer, read_augmentation}) {
    if (const Result<void> sound = read(message, config); !sound) return sound.error();
  }
  if (const Result<void> fits = check_targets(config); !fits) return fits.error();
  config.seed = message.seed();
  config.text = print_text(message);
  return config;
}

Result<TrainConfig> read_train_config(const std::string& path) {
  const Result<std::string> text = read_file(path, max_text_bytes);
  if (!text) return text.error();
  Result<TrainConfig> config = parse_train_config(*text);
  if (!config) return config.error().within(path);
  return config;
}

std::string_view to_string(LossKind kind) {
  return text::TrainLoss::Kind_Name(static_cast<text::TrainLoss::Kind>(kind));
}

std::string_view to_string(OptimizerKind kind) {
  return text::TrainOptimizer::Kind_Name(static_cast<text::TrainOptimizer::Kind>(kind));
}

}  // namespace znni
