// Writes a trained network as the next version of a model, DIR/N/model.onnx, which a daemon then serves.
#pragma once

#include <filesystem>
#include <string>

#include "planner/network/graph_edits.hpp"
#include "primitives/core/result.hpp"

namespace znni {

// What the network was trained to see: raw * scale + offset.
struct InputScale {
  float scale = 1;
  float offset = 0;
};

// Fails if a config.pbtxt is in the model's folder and says that the served network sees something else: another scale
// or offset, or voxels normalised by mean and deviation; or if it cannot be read. The error begins with the file's path
// and says what would be right.
[[nodiscard]] Result<void> check_model_config(const std::filesystem::path& model, const InputScale& input);

// Returns the number behind the newest version in the model's folder; 1 if there is none. Fails if no number is left,
// or if the folder has a model's file itself. That is version 1 only as long as there are no other versions.
[[nodiscard]] Result<std::int64_t> next_version(const std::filesystem::path& model);

// Fails if the next version could not be served, or would change how versions before it are served: as
// check_model_config() and next_version() do, or if a version is there without a config.pbtxt and the scale needs one.
// To be called before a long training.
[[nodiscard]] Result<void> check_model_folder(const std::filesystem::path& model, const InputScale& input);

// Fails if write_model_version() could not write the network. To be called before a long training.
[[nodiscard]] Result<void> check_writable(const LoadedNetwork& served);

// Writes the next version and returns its name. It appears with all that belongs to it, by one rename; after a kill or
// a power cut it is there as a whole, or not at all. First writes config.pbtxt if there is none and the scale needs
// one. Fails as check_model_folder() does.
[[nodiscard]] Result<std::string> write_model_version(const LoadedNetwork& served, const std::filesystem::path& model,
                                                      const InputScale& input);

}  // namespace znni
