#include "server/train/model_version.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "planner/base/repository.hpp"
#include "primitives/core/write_atomically.hpp"
#include "proto/convert/onnx/writer/onnx_writer.hpp"
#include "proto/convert/text/model_config.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

fs::path config_of(const fs::path& model) { return model / "config.pbtxt"; }

// Returns the shortest text that reads as the same number.
std::string number_text(float value) {
  std::array<char, 40> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::string parameter_text(const std::string& name, float value) {
  return "parameters { key: \"" + name + "\" value { string_value: \"" + number_text(value) + "\" } }\n";
}

Result<void> check_number(const std::string& name, float served, float trained) {
  if (served == trained) return {};
  return Error{ErrorCode::invalid_argument, name + " is " + number_text(served) + ", and the training has " +
                                                number_text(trained) + "; make both the same"};
}

Result<void> check_settings(const ModelSettings& settings, const InputScale& input) {
  if (Result<void> same = check_number("input_scale", settings.input_scale, input.scale); !same) return same;
  if (Result<void> same = check_number("input_offset", settings.input_offset, input.offset); !same) return same;
  if (settings.input_zscore == InputZscore::none) return {};
  return Error{ErrorCode::invalid_argument,
               "input_zscore is set, and the training has raw * input_scale + input_offset; remove it"};
}

// Returns 0 for a folder that is no version.
std::int64_t version_of(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = error == std::errc{} && end == name.data() + name.size();
  return is_whole ? std::max<std::int64_t>(number, 0) : 0;
}

Error system_failure(const fs::path& path, const std::error_code& error) {
  return {ErrorCode::invalid_argument, path.string() + ": cannot be written: " + error.message()};
}

// Fails if `done` has an error; `path` is what was written.
Result<void> checked(const fs::path& path, const std::error_code& done) {
  return done ? Result<void>(system_failure(path, done)) : Result<void>();
}

bool is_default(const InputScale& input) { return input.scale == 1 && input.offset == 0; }

Result<void> write_config(const fs::path& model, const InputScale& input) {
  std::error_code ignored;
  if (fs::exists(config_of(model), ignored) || is_default(input)) return {};
  return write_atomically(config_of(model).string(),
                          parameter_text("input_scale", input.scale) + parameter_text("input_offset", input.offset));
}

// Makes an empty folder, whatever a run that was killed has left there.
Result<void> make_empty(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  return checked(folder, error);
}

}  // namespace

Result<void> check_model_config(const fs::path& model, const InputScale& input) {
  const std::string path = config_of(model).string();
  const Result<ModelSettings> settings = read_model_config(path);
  if (!settings) return settings.error().code == ErrorCode::not_found ? Result<void>() : settings.error();
  const Result<void> fits = check_settings(*settings, input);
  return fits ? fits : fits.error().within(path);
}

Result<std::int64_t> next_version(const fs::path& model) {
  std::error_code ignored;
  if (const fs::path alone = model_file_in(model); fs::exists(alone, ignored)) {
    return Error{ErrorCode::invalid_argument, alone.string() +
                                                  ": would not be served beside another version; move it to " +
                                                  (model / "1" / alone.filename()).string()};
  }
  std::int64_t newest = 0;
  for (fs::directory_iterator it(model, ignored); it != fs::directory_iterator(); it.increment(ignored)) {
    newest = std::max(newest, version_of(it->path().filename().string()));
  }
  if (newest < std::numeric_limits<std::int64_t>::max()) return newest + 1;
  return Error{ErrorCode::invalid_argument, (model / std::to_string(newest)).string() +
                                                ": is the last version that there can be; give another --output"};
}

Result<void> check_model_folder(const fs::path& model, const InputScale& input) {
  if (Result<void> fits = check_model_config(model, input); !fits) return fits;
  const Result<std::int64_t> next = next_version(model);
  if (!next) return next.error();
  std::error_code ignored;
  const bool adds_config = !is_default(input) && !fs::exists(config_of(model), ignored);
  if (*next == 1 || !adds_config) return {};
  return Error{ErrorCode::invalid_argument,
               model.string() +
                   ": its versions are served with input_scale 1 and input_offset 0, and the training has " +
                   number_text(input.scale) + " and " + number_text(input.offset) +
                   "; give another --output, or write config.pbtxt there, which holds for all versions"};
}

Result<void> check_writable(const LoadedNetwork& served) {
  const Result<onnx::ModelProto> written = onnx_of(served);
  return written ? Result<void>() : written.error().within("the model could not be written");
}

Result<std::string> write_model_version(const LoadedNetwork& served, const fs::path& model, const InputScale& input) {
  if (const Result<void> fits = check_model_folder(model, input); !fits) return fits.error();
  const fs::path beside = model / ".new-version";
  if (const Result<void> made = make_empty(beside); !made) return made.error();
  const Result<void> written = write_onnx_file(served, (beside / "model.onnx").string());
  if (!written) return written.error();
  if (const Result<void> synced = sync_file(beside.string()); !synced) return synced.error();
  if (const Result<void> config = write_config(model, input); !config) return config.error();
  const Result<std::int64_t> next = next_version(model);
  if (!next) return next.error();
  const std::string version = std::to_string(*next);
  std::error_code error;
  fs::rename(beside, model / version, error);
  if (error) return system_failure(model / version, error);
  if (const Result<void> synced = sync_file(model.string()); !synced) return synced.error();
  return version;
}

}  // namespace znni
