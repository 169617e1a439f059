// Paths of models: DIR/<model>/<version>/model.onnx, or DIR/<model>/model.onnx if there are no versions, which is
// version 1; and where what is kept lies.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

struct ModelVersion {
  std::string model;
  std::string version;  // a number, as its directory is called
  std::filesystem::path file;
  std::filesystem::path config;  // <model>/config.pbtxt, which need not be there
};

// Models by name, versions by number: those that the daemon counts, positive and written without zeros before them.
// Directories that are no such numbers or hold no model.onnx are passed over.
// not_found when the directory is not there or holds no model at all.
[[nodiscard]] Result<std::vector<ModelVersion>> list_models(const std::filesystem::path& repository);

// $XDG_STATE_HOME/znni, else ~/.local/state/znni; not_found when neither variable is set.
[[nodiscard]] Result<std::filesystem::path> state_directory();

// Creates the directories a file lies in.
[[nodiscard]] Result<void> make_parents(const std::filesystem::path& file);

// Creates them, and looks whether the file could be written there: before long work, so that its result is not lost.
// invalid_argument, with the reason, when it could not.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& file);

}  // namespace znni
