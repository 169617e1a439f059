// The model repository on disk: DIR/<model>/<version>/model.onnx, beside it optionally plan.pbtxt, and
// optionally DIR/<model>/config.pbtxt. Versions are positive numbers; the newest of each model is served. A model
// without versions is DIR/<model>/model.onnx, its plan beside it: version 1; beside versions that file is not served.
// model.prototxt, with model.caffemodel, may stand for model.onnx.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"
#include "server/models/log_sink.hpp"

namespace znni {

// The paths of one model's files, as they are or would be: only the folders were looked at.
struct ModelEntry {
  std::string name;
  std::string version;                   // "" when there is none: then `problem` says so
  std::filesystem::path network_file;    // model.onnx or model.prototxt
  std::filesystem::path plan_file;       // plan.pbtxt beside it
  std::filesystem::path config_file;     // config.pbtxt of the model
  std::vector<std::string> passed_over;  // older versions, not served
  std::string warning;                   // what else is there, is not served and perhaps should be, or ""
  std::string problem;                   // why it cannot be served, or ""
};

// Returns the models, sorted by name; none for an empty folder. Fails with not_found if `directory` is not a folder.
// Hidden folders, a volume's lost+found and plain files are not models. Neither are folders that hold anything but a
// version's folder or a model's file (*.onnx, *.prototxt, *.caffemodel, *.pbtxt): one warning names all of them. What
// is empty or cannot be read has a problem.
[[nodiscard]] Result<std::vector<ModelEntry>> scan_repository(const std::filesystem::path& directory,
                                                              const LogSink& log = {});

// Returns the files that lie beside a model's network and below, that among them, sorted. Weights may lie in files of
// their own.
[[nodiscard]] std::vector<std::filesystem::path> files_of(const ModelEntry& entry);
// Returns the bytes of those files.
[[nodiscard]] std::int64_t bytes_of_files(const ModelEntry& entry);

// Fails with not_found if one of `names`, which shall be loaded at the start, is not among the `entries` of
// `directory`.
[[nodiscard]] Result<void> check_named(const std::filesystem::path& directory, const std::vector<ModelEntry>& entries,
                                       const std::vector<std::string>& names);

}  // namespace znni
