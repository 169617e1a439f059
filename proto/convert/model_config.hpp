// A model's config.pbtxt: Triton's form (proto/config.proto), with our own settings among its parameters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/config.pb.h"

namespace znni {

// Over what the input's mean and deviation are taken.
enum class InputZscore { none, patch, volume };
// Applied to the net's output, image by image; softmax over images.
enum class OutputActivation { none, sigmoid, tanh, softmax };
// dense: an output for every voxel, as a sliding window gives; network: what the net itself gives.
enum class OutputGrid { dense, network };

struct ModelSettings {
  std::string name;       // "" where the file does not say
  float input_scale = 1;  // the net sees raw * input_scale + input_offset
  float input_offset = 0;
  std::optional<float> input_nonfinite;  // taken for raw voxels that are NaN or infinite; else they are refused
  InputZscore input_zscore = InputZscore::none;
  OutputActivation output_activation = OutputActivation::none;
  OutputGrid output_grid = OutputGrid::dense;
  std::map<std::string, std::string> extra;  // parameters that are not ours
  std::vector<std::string> warnings;         // one line each: what was ignored
  inference::ModelConfig config;             // as read
};

// The error names the line, or the parameter, what was found and what is allowed. Triton's fields that have no
// effect here are ignored with a warning; fields nobody knows are errors.
[[nodiscard]] Result<ModelSettings> parse_model_config(std::string_view text);

// Warnings and errors begin with the path; not_found when there is none.
[[nodiscard]] Result<ModelSettings> read_model_config(const std::string& path);

}  // namespace znni
