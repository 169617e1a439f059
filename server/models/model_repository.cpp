#include "server/models/model_repository.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "planner/base/repository.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

// Returns a positive number in plain digits; no other text names a version.
std::optional<std::int64_t> version_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number <= 0 || text.front() == '0') return std::nullopt;
  return number;
}

// The entries of a directory, by name.
struct Contents {
  std::vector<std::string> folders;
  bool has_model_file = false;
  bool has_other_file = false;
};

bool is_model_file(const fs::path& name) {
  const fs::path ending = name.extension();
  return ending == ".onnx" || ending == ".pbtxt" || ending == ".prototxt" || ending == ".caffemodel";
}

// Lists a directory. The error's message is the system's reason alone.
Result<Contents> contents_of(const fs::path& directory) {
  std::error_code error;
  fs::directory_iterator it(directory, error);
  Contents contents;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const fs::path name = it->path().filename();
    if (it->is_directory(ignored)) {
      contents.folders.push_back(name.string());
    } else if (is_model_file(name)) {
      contents.has_model_file = true;
    } else {
      contents.has_other_file = true;
    }
  }
  if (error) return Error{ErrorCode::not_found, error.message()};
  std::sort(contents.folders.begin(), contents.folders.end());
  return contents;
}

// Returns true if the folder is hidden, or one that file systems keep in the root of a volume.
bool is_of_the_system(const std::string& folder) { return folder.front() == '.' || folder == "lost+found"; }

// Holds something else. One with nothing in it may be a model that is being copied.
bool is_no_model(const Contents& contents) {
  const auto is_version = [](const std::string& name) { return version_number(name).has_value(); };
  const std::vector<std::string>& folders = contents.folders;
  if (contents.has_model_file || std::any_of(folders.begin(), folders.end(), is_version)) return false;
  return contents.has_other_file || !folders.empty();
}

ModelEntry unreadable(const fs::path& folder, const std::string& reason) {
  ModelEntry entry;
  entry.name = folder.filename().string();
  entry.problem = folder.string() + ": " + reason;
  return entry;
}

ModelEntry model_entry(const fs::path& directory, const std::string& name, const std::vector<std::string>& folders) {
  ModelEntry entry;
  entry.name = name;
  entry.config_file = directory / name / "config.pbtxt";
  std::int64_t newest = 0;
  for (const std::string& candidate : folders) {
    const std::int64_t number = version_number(candidate).value_or(0);
    if (number == 0) continue;
    const bool newer = number > newest;
    if (newest > 0) entry.passed_over.push_back(newer ? std::to_string(newest) : candidate);
    newest = std::max(newest, number);
  }
  std::error_code ignored;
  const fs::path file = model_file_in(directory / name);
  const bool has_file = fs::is_regular_file(file, ignored);
  const bool is_alone = newest == 0 && has_file;
  if (has_file && !is_alone) {
    entry.warning = file.string() + ": is not served, version " + std::to_string(newest) +
                    " is; remove it, or give it a version's folder";
  }
  if (newest == 0 && !is_alone) {
    entry.problem = (directory / name).string() +
                    ": no version found, expected model.onnx or model.prototxt, or a folder '1' with it";
    return entry;
  }
  entry.version = std::to_string(std::max<std::int64_t>(newest, 1));
  const fs::path folder = is_alone ? directory / name : directory / name / entry.version;
  entry.network_file = model_file_in(folder);
  entry.plan_file = folder / "plan.pbtxt";
  return entry;
}

}  // namespace

Result<std::vector<ModelEntry>> scan_repository(const fs::path& directory, const LogSink& log) {
  const Result<Contents> whole = contents_of(directory);
  if (!whole) return whole.error().within(directory.string()).within("model repository");
  std::vector<ModelEntry> entries;
  std::string passed_over;
  for (const std::string& name : whole->folders) {
    if (is_of_the_system(name)) continue;
    const Result<Contents> contents = contents_of(directory / name);
    if (!contents) {
      entries.push_back(unreadable(directory / name, contents.error().message));
    } else if (is_no_model(*contents)) {
      passed_over += (passed_over.empty() ? "" : ", ") + name;
    } else {
      entries.push_back(model_entry(directory, name, contents->folders));
    }
  }
  const std::string why = ": passed over, with neither a model's file nor a version's folder in it: ";
  if (!passed_over.empty()) log_to(log, "warning", directory.string() + why + passed_over);
  return entries;
}

std::vector<fs::path> files_of(const ModelEntry& entry) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator it(entry.network_file.parent_path(), fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::int64_t bytes_of_files(const ModelEntry& entry) {
  std::int64_t bytes = 0;
  for (const fs::path& file : files_of(entry)) {
    std::error_code unknown;
    const auto size = fs::file_size(file, unknown);
    bytes += unknown ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

Result<void> check_named(const fs::path& directory, const std::vector<ModelEntry>& entries,
                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto has_name = [&name](const ModelEntry& entry) { return entry.name == name; };
    if (std::any_of(entries.begin(), entries.end(), has_name)) continue;
    return Error{ErrorCode::not_found,
                 directory.string() + ": it has no model '" + name + "', which shall be loaded at the start"};
  }
  return {};
}

}  // namespace znni
