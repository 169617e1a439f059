#include "planner/base/repository.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace znni {
namespace {

namespace fs = std::filesystem;

// Returns the positive number that plain digits give, as the daemon reads it; 0 for any other text.
std::int64_t version_number(const std::string& name) {
  std::int64_t number = 0;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data(), last, number);
  const bool whole = error == std::errc() && end == last && name.front() != '0';
  return whole ? std::max<std::int64_t>(number, 0) : 0;
}

std::vector<fs::path> directories(const fs::path& parent, std::error_code& error) {
  std::vector<fs::path> found;
  for (fs::directory_iterator it(parent, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) found.push_back(it->path());
  }
  return found;
}

}  // namespace

fs::path model_file_in(const fs::path& folder) {
  std::error_code ignored;
  const fs::path onnx = folder / "model.onnx";
  const fs::path caffe = folder / "model.prototxt";
  return !fs::exists(onnx, ignored) && fs::is_regular_file(caffe, ignored) ? caffe : onnx;
}

Result<std::vector<ModelVersion>> list_models(const fs::path& repository) {
  std::error_code error;
  std::vector<ModelVersion> models;
  for (const fs::path& model : directories(repository, error)) {
    std::error_code ignored;
    const std::size_t before = models.size();
    const fs::path config = model / "config.pbtxt";
    for (const fs::path& version : directories(model, ignored)) {
      const fs::path file = model_file_in(version);
      const bool counts = version_number(version.filename()) > 0 && fs::is_regular_file(file, ignored);
      if (counts) models.push_back({model.filename(), version.filename(), file, config});
    }
    const fs::path own = model_file_in(model);
    const bool is_alone = models.size() == before && fs::is_regular_file(own, ignored);
    if (is_alone) models.push_back({model.filename(), "1", own, config});
  }
  if (error) return Error{ErrorCode::not_found, repository.string() + ": " + error.message()};
  if (models.empty()) {
    return Error{
        ErrorCode::not_found,
        repository.string() +
            ": no model; there should be <model>/<version>/model.onnx or <model>/model.onnx, or model.prototxt there"};
  }
  std::sort(models.begin(), models.end(), [](const ModelVersion& a, const ModelVersion& b) {
    return a.model != b.model ? a.model < b.model : version_number(a.version) < version_number(b.version);
  });
  return models;
}

Result<fs::path> state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return fs::path(state) / "znni";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".local" / "state" / "znni";
  return Error{ErrorCode::not_found, "no state directory: neither XDG_STATE_HOME nor HOME is set"};
}

Result<void> make_parents(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) return Error{ErrorCode::unavailable, file.parent_path().string() + ": " + error.message()};
  return {};
}

Result<void> check_place(const fs::path& file) {
  const auto wrong = [&](const std::string& why) { return Error{ErrorCode::invalid_argument, file.string() + why}; };
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) return wrong(": is a directory; the name of a file is right");
  fs::path folder = fs::absolute(file, ignored).parent_path();
  while (folder.has_relative_path() && !fs::exists(folder, ignored)) folder = folder.parent_path();
  std::string trial = folder / ".znni.XXXXXX";
  const int opened = ::mkostemp(trial.data(), O_CLOEXEC);
  if (opened < 0) return wrong(": cannot be written: " + std::string(std::strerror(errno)));
  ::close(opened);
  ::unlink(trial.c_str());
  return {};
}

Result<void> check_writable(const fs::path& file) {
  const Result<void> made = make_parents(file);
  return made ? check_place(file) : Error{ErrorCode::invalid_argument, made.error().message};
}

}  // namespace znni
