#include "server/models/model_repository.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

namespace znni {
namespace {

namespace fs = std::filesystem;

// A positive number in plain digits; nothing else names a version.
std::optional<std::int64_t> version_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number <= 0 || text.front() == '0') return std::nullopt;
  return number;
}

// Names of the folders in `directory`.
Result<std::vector<std::string>> folders(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator it(directory, error);
  std::vector<std::string> names;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) names.push_back(it->path().filename().string());
  }
  if (error) return Error{ErrorCode::not_found, directory.string() + ": " + error.message()};
  std::sort(names.begin(), names.end());
  return names;
}

ModelEntry model_entry(const fs::path& directory, const std::string& name) {
  ModelEntry entry;
  entry.name = name;
  entry.config_file = directory / name / "config.pbtxt";
  const Result<std::vector<std::string>> names = folders(directory / name);
  if (!names) {
    entry.problem = names.error().message;
    return entry;
  }
  std::int64_t newest = 0;
  for (const std::string& candidate : *names) {
    const std::int64_t number = version_number(candidate).value_or(0);
    if (number == 0) continue;
    const bool newer = number > newest;
    if (newest > 0) entry.passed_over.push_back(newer ? std::to_string(newest) : candidate);
    newest = std::max(newest, number);
  }
  std::error_code ignored;
  const fs::path file = directory / name / "model.onnx";
  const bool has_file = fs::is_regular_file(file, ignored);
  const bool is_alone = newest == 0 && has_file;
  if (has_file && !is_alone) {
    entry.warning = file.string() + ": is not served, version " + std::to_string(newest) +
                    " is; remove it, or give it a version's folder";
  }
  if (newest == 0 && !is_alone) {
    entry.problem = (directory / name).string() + ": no version found, expected model.onnx or a folder '1' with it";
    return entry;
  }
  entry.version = std::to_string(std::max<std::int64_t>(newest, 1));
  const fs::path folder = is_alone ? directory / name : directory / name / entry.version;
  entry.network_file = folder / "model.onnx";
  entry.plan_file = folder / "plan.pbtxt";
  return entry;
}

}  // namespace

Result<std::vector<ModelEntry>> scan_repository(const fs::path& directory) {
  const Result<std::vector<std::string>> names = folders(directory);
  if (!names) return names.error().within("model repository");
  std::vector<ModelEntry> entries;
  for (const std::string& name : *names) {
    if (name.front() != '.') entries.push_back(model_entry(directory, name));
  }
  return entries;
}

}  // namespace znni
