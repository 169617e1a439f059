#include "server/train/trained_with.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include "client/files/files.hpp"
#include "planner/base/fingerprint.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

struct FileState {
  std::uintmax_t files = 0;
  std::uintmax_t bytes = 0;
  fs::file_time_type::rep changed = fs::file_time_type::min().time_since_epoch().count();  // of the newest file

  // A file that is not there counts for nothing.
  void add(const fs::path& file) {
    std::error_code error;
    const std::uintmax_t own = fs::file_size(file, error);
    if (error) return;
    ++files;
    bytes += own;
    changed = std::max(changed, fs::last_write_time(file, error).time_since_epoch().count());
  }
};

FileState state_of(const fs::path& path) {
  FileState state;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    state.add(path);
    return state;
  }
  fs::recursive_directory_iterator it(path, ignored);
  for (; !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored)) {
    std::error_code error;
    if (it->is_regular_file(error)) state.add(it->path());
  }
  return state;
}

// Puts the files of different paths in order.
std::set<std::string> paths_of(const std::vector<VolumeNames>& volumes) {
  std::set<std::string> paths;
  for (const VolumeNames& volume : volumes) {
    for (const std::string* name : {&volume.input, &volume.labels, &volume.mask, &volume.weights}) {
      if (!name->empty()) paths.insert(client::parse_file_name(*name).path);
    }
  }
  return paths;
}

// Returns name and version of the primitive; "" for the loss.
std::string name_of(const StepCall& call) {
  if (call.layer != nullptr) return std::string(call.layer->name) + " " + std::to_string(call.layer->version);
  if (call.gradient != nullptr) return std::string(call.gradient->name) + " " + std::to_string(call.gradient->version);
  return "";
}

}  // namespace

std::string volumes_state(const std::vector<VolumeNames>& volumes) {
  std::string text;
  for (const std::string& path : paths_of(volumes)) {
    const FileState state = state_of(path);
    text += path + "\t" + std::to_string(state.files) + " " + std::to_string(state.bytes) + " " +
            std::to_string(state.changed) + "\n";
  }
  return text;
}

std::string changed_file(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before);
  std::istringstream lines(now);
  std::string old_line;
  for (std::string line; std::getline(lines, line);) {
    if (!std::getline(old_lines, old_line) || line != old_line) return line.substr(0, line.rfind('\t'));
  }
  return "";
}

std::string plan_fingerprint(const StepPlan& plan) {
  Fingerprint fingerprint;
  for (const std::string& node : plan.nodes) fingerprint.add(node);
  fingerprint.add(std::to_string(plan.device.simd_floats));
  for (const StepCall& call : plan.calls) {
    fingerprint.add(std::to_string(call.node));
    fingerprint.add(name_of(call));
    fingerprint.add(to_string(call.estimate.variant));
  }
  return fingerprint.text();
}

std::vector<std::string> changes(const TrainedWith& before, const TrainedWith& now) {
  std::vector<std::string> lines;
  const std::string file = changed_file(before.volumes, now.volumes);
  if (!file.empty()) {
    lines.push_back(file + ": has changed since the checkpoint was written; the steps that are left see what it has " +
                    "now, --restart trains on it from the start");
  }
  if (before.plan != now.plan) {
    lines.push_back("the steps that are left have another plan, which rounds differently; for the same bits, on the " +
                    ("same machine, give " + before.limits) + " as before");
  }
  return lines;
}

}  // namespace znni
