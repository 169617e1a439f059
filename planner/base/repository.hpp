// Paths of models: DIR/<model>/<version>/model.onnx, or DIR/<model>/model.onnx if there are no versions, which is
// version 1; model.prototxt in its place. And where what is kept lies.
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

// Returns the model's file in a folder: model.onnx; model.prototxt, of Caffe, if that alone is there.
[[nodiscard]] std::filesystem::path model_file_in(const std::filesystem::path& folder);

// Returns models by name, and their versions by number: those that the daemon counts, positive and without leading
// zeros. Passes over directories that are not such numbers or hold no model's file.
// Fails with not_found if the directory does not exist or holds no model at all.
[[nodiscard]] Result<std::vector<ModelVersion>> list_models(const std::filesystem::path& repository);

// Returns $XDG_STATE_HOME/znni, else ~/.local/state/znni. Fails with not_found if neither XDG_STATE_HOME nor HOME is
// set.
[[nodiscard]] Result<std::filesystem::path> state_directory();

// Creates the directories a file lies in.
[[nodiscard]] Result<void> make_parents(const std::filesystem::path& file);

// Fails with invalid_argument and the reason if `file` could not be written: before long work, so that its result is
// not lost. Tries it in the nearest of its folders that is there, and leaves nothing.
[[nodiscard]] Result<void> check_place(const std::filesystem::path& file);

// Creates the directories the file lies in, and fails as check_place() does.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& file);

}  // namespace znni
