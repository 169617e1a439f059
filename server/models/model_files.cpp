#include "server/models/model_files.hpp"

#include <system_error>
#include <utility>

#include "proto/convert/configured_network.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/text/model_config.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

Result<LoadedNetwork> read_network(const ModelEntry& entry, const NetworkReading& reading) {
  const fs::path weightless = entry.network_file.parent_path() / "model.pbtxt";
  if (!is_there(entry.network_file) && is_there(weightless)) {
    return Error{ErrorCode::invalid_argument, weightless.string() + ": a network without weights can be planned, " +
                                                  "not served; expected " + entry.network_file.filename().string()};
  }
  Result<LoadedNetwork> loaded = read_network_file(entry.network_file.string(), reading);
  if (!loaded || !loaded->weights.empty()) return loaded;
  return Error{ErrorCode::invalid_argument,
               entry.network_file.string() + ": the network has no weights; it can be planned, not served"};
}

Result<void> check_settings(const ModelSettings& settings, const std::string& name) {
  if (!settings.name.empty() && settings.name != name) {
    return Error{ErrorCode::invalid_argument, "name is '" + settings.name + "'; the folder says '" + name + "'"};
  }
  if (settings.input_zscore == InputZscore::patch) {
    return Error{ErrorCode::unsupported,
                 "parameter input_zscore is 'patch', which makes results depend on the patches; expected 'volume' or "
                 "'none'"};
  }
  if (settings.output_grid == OutputGrid::network) {
    return Error{
        ErrorCode::unsupported,
        "parameter output_grid is 'network'; expected 'dense', of which every stride-th voxel along an axis is "
        "the network's"};
  }
  return {};
}

WindowBlend blend_of(const ModelSettings& settings) {
  WindowBlend blend;
  blend.overlap = settings.window_overlap.value_or(blend.overlap);
  if (settings.window_weight == WindowFalloff::constant) blend.weight = WindowWeight::constant;
  return blend;
}

}  // namespace

Result<ModelFiles> read_model_files(const ModelEntry& entry, const LogSink& log, std::int64_t max_bytes) {
  ModelSettings settings;
  if (is_there(entry.config_file)) {
    Result<ModelSettings> read = read_model_config(entry.config_file.string());
    if (!read) return read.error();
    settings = std::move(*read);
  }
  for (const std::string& warning : settings.warnings) log_to(log, "warning", warning);
  if (const Result<void> checked = check_settings(settings, entry.name); !checked) {
    return checked.error().within(entry.config_file.string());
  }
  Result<LoadedNetwork> loaded = read_network(entry, {max_bytes, settings.outputs});
  if (!loaded) return loaded.error();
  Result<LoadedNetwork> whole = configured(*std::move(loaded), settings);
  if (!whole) return whole.error().within(entry.config_file.string());
  const InputRule input{{settings.input_scale, settings.input_offset, settings.input_nonfinite},
                        settings.input_zscore == InputZscore::volume};
  return ModelFiles{std::move(whole->network), std::move(whole->weights), input, blend_of(settings)};
}

Result<void> check_model_files(const ModelEntry& entry, const LogSink& log, std::int64_t max_bytes) {
  if (!entry.problem.empty()) return Error{ErrorCode::corrupt_file, entry.problem};
  const Result<ModelFiles> files = read_model_files(entry, log, max_bytes);
  return files ? Result<void>() : files.error();
}

}  // namespace znni
