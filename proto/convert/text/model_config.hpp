// Reads a model's config.pbtxt: Triton's format (proto/config.proto), with our own settings among its parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/config.pb.h"

namespace znni {

// Says over which voxels mean and deviation of the input are taken.
enum class InputZscore { none, patch, volume };
// Activation of the net's output, channel by channel; softmax over channels.
enum class OutputActivation { none, sigmoid, tanh, softmax };
// dense: one output for every position of the sliding window; network: the net's own output, with its strides.
enum class OutputGrid { dense, network };
// Says what a voxel of a window counts where windows overlap: less towards the window's border, or all the same.
enum class WindowFalloff { gaussian, constant };

struct ModelSettings {
  std::string name;       // "" if the file has none
  float input_scale = 1;  // the net sees raw * input_scale + input_offset
  float input_offset = 0;
  std::optional<float> input_nonfinite;  // replaces raw voxels that are NaN or infinite; if unset, they are refused
  InputZscore input_zscore = InputZscore::none;
  OutputActivation output_activation = OutputActivation::none;
  OutputGrid output_grid = OutputGrid::dense;
  std::vector<std::string> outputs;      // of the network's file, those to compute; none: all
  std::vector<std::int64_t> window;      // voxels along each axis of the net, or along all; none if it is not named
  std::optional<double> window_overlap;  // of neighbouring windows, as a share of their extent; in [0, 1)
  std::optional<WindowFalloff> window_weight;
  std::optional<std::int64_t> memory;        // bytes that a server plans the model for; if unset, its share
  std::int64_t memory_share = 1;             // weight of the model among those without `memory`
  std::map<std::string, std::string> extra;  // parameters that are not our own
  std::vector<std::string> warnings;         // one line for each field that was ignored
  inference::ModelConfig config;             // as read
};

// Parses the text of a config.pbtxt. The error names the line or the parameter, what was found and what is allowed.
// Triton's fields that have no effect here are ignored with a warning; unknown fields are errors.
[[nodiscard]] Result<ModelSettings> parse_model_config(std::string_view text);

// Reads the file. Warnings and errors begin with the path. Fails with not_found if there is no file.
[[nodiscard]] Result<ModelSettings> read_model_config(const std::string& path);

}  // namespace znni
