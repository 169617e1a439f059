#include "planner/program/valid_command.hpp"

#include <cstdio>
#include <filesystem>

#include "planner/network/graph_passes.hpp"
#include "planner/report/network_check.hpp"
#include "planner/report/valid_text.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/onnx/writer/onnx_writer.hpp"

namespace znni {
namespace {

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<void> check_files(const std::string& file, const std::string& output) {
  if (!file.ends_with(".onnx")) {
    return wrong(file + ": --make-valid takes an .onnx file");
  }
  if (output.empty()) return {};
  if (!output.ends_with(".onnx")) return wrong("--make-valid " + output + ": a name that ends with .onnx is right");
  std::error_code ignored;
  if (!std::filesystem::equivalent(file, output, ignored)) return {};
  return wrong("--make-valid " + output + ": is the network itself, which is not overwritten; name another file");
}

// Writes the network, or finds out whether it could be. Returns why not.
Result<void> write(const LoadedNetwork& loaded, const std::string& output) {
  if (!output.empty()) return write_onnx_file(loaded, output);
  const Result<onnx::ModelProto> model = onnx_of(loaded);
  return model ? Result<void>() : model.error();
}

}  // namespace

Result<bool> valid_command(const PlannerOptions& options) {
  const std::string& file = options.files.front();
  const std::string& output = *options.valid_output;
  if (const Result<void> right = check_files(file, output); !right) return right.error();
  Blockers blockers;
  const Result<LoadedNetwork> loaded = read_onnx_file(file, {saturated, options.outputs}, &blockers);
  if (!loaded && blockers.kinds.empty()) return loaded.error();
  const auto print = [](const std::string& text) { std::fputs(text.c_str(), stdout); };
  if (!loaded) {
    print(options.json ? check_json(file, blockers) : check_text(file, blockers));
    return false;
  }
  Result<MadeValid> made = make_valid(*loaded);
  if (!made) return made.error().within(file);
  const Result<void> written = write(made->loaded, output);
  if (!written && !output.empty()) return written.error();
  const ValidAnswer answer{file, output, written ? "" : written.error().message, options.volume};
  made->loaded = fold_and_fuse(std::move(made->loaded));
  print(options.json ? valid_json(answer, loaded->network, *made) : valid_text(answer, loaded->network, *made));
  return true;
}

}  // namespace znni
