#include "planner/plan/kept_plans.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>

#include "planner/base/fingerprint.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view daemons = ".plan.pbtxt";
constexpr std::string_view planners = ".planner.pbtxt";

// Plan files by the bytes of memory they are for, the most first.
using PlansByMemory = std::map<std::int64_t, fs::path, std::greater<>>;

fs::path folder_of(const fs::path& root, const Network& network, const DeviceSpec& device) {
  Fingerprint print;
  for (const std::string& node : describe(network)) print.add(node);
  if (network.window != Vec3{}) print.add(to_string(network.window));
  print.add(device.name);
  print.add(std::to_string(device.threads));
  return root / print.text();
}

// Returns the bytes that the name of a plan file says; 0 of a file that has another ending.
std::int64_t memory_of(const std::string& file, std::string_view ending) {
  std::int64_t bytes = 0;
  const char* const last = file.data() + file.size();
  const auto [end, error] = std::from_chars(file.data(), last, bytes);
  return error == std::errc() && std::string_view(end, last) == ending ? bytes : 0;
}

// Returns true if the name is that of a plan of the daemon, of any volume.
bool is_daemons(const std::string& file) {
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), bytes);
  const std::string_view rest(end, file.data() + file.size());
  return error == std::errc() && (rest == daemons || (rest.starts_with(".of-") && rest.ends_with(daemons)));
}

// Calls `use` with each entry of a folder. Returns why the folder cannot be listed, if it is there.
template <class Use>
std::error_code for_each_in(const fs::path& folder, const Use& use) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    use(it->path());
  }
  const bool is_none = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  return is_none ? std::error_code() : error;
}

std::error_code list_plans(const fs::path& folder, std::string_view ending, PlansByMemory& found) {
  return for_each_in(folder, [&](const fs::path& file) {
    const std::int64_t bytes = memory_of(file.filename(), ending);
    if (bytes > 0) found.emplace(bytes, file);
  });
}

}  // namespace

fs::path kept_plan_file(const fs::path& root, const Network& network, const DeviceSpec& device, std::int64_t memory,
                        const std::optional<Vec3>& volume) {
  const std::string of = volume ? ".of-" + to_string(*volume) : "";
  return folder_of(root, network, device) / (std::to_string(memory) + of + std::string(daemons));
}

fs::path planner_plan_file(const fs::path& root, const Network& network, const DeviceSpec& device,
                           std::int64_t memory) {
  return folder_of(root, network, device) / (std::to_string(memory) + std::string(planners));
}

std::vector<fs::path> other_plan_files(const fs::path& root, const Network& network, const DeviceSpec& device,
                                       std::int64_t memory) {
  PlansByMemory found;
  static_cast<void>(list_plans(folder_of(root, network, device), daemons, found));
  found.erase(memory);
  std::vector<fs::path> files;
  for (const auto& [bytes, file] : found) files.push_back(file);
  return files;
}

Result<std::vector<fs::path>> planner_plan_files(const fs::path& root, const Network& network, const DeviceSpec& device,
                                                 std::int64_t memory) {
  const fs::path folder = folder_of(root, network, device);
  PlansByMemory found;
  if (const std::error_code error = list_plans(folder, planners, found); error) {
    return Error{ErrorCode::unavailable, folder.string() + ": " + error.message()};
  }
  std::vector<fs::path> files;
  std::vector<fs::path> larger;
  std::vector<fs::path> smaller;
  for (const auto& [bytes, file] : found) {
    (bytes > memory ? larger : bytes < memory / 2 ? smaller : files).push_back(file);
  }
  files.insert(files.end(), larger.rbegin(), larger.rend());
  files.insert(files.end(), smaller.begin(), smaller.end());
  return files;
}

std::vector<fs::path> planner_plans_elsewhere(const fs::path& root, const Network& network, const DeviceSpec& device) {
  const fs::path own = folder_of(root, network, device);
  std::vector<fs::path> files;
  static_cast<void>(for_each_in(root, [&](const fs::path& folder) {
    PlansByMemory found;
    if (folder != own) static_cast<void>(list_plans(folder, planners, found));
    for (const auto& [bytes, file] : found) files.push_back(file);
  }));
  std::sort(files.begin(), files.end());
  return files;
}

void note_use(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

std::vector<fs::path> prune_plans(const fs::path& file, fs::file_time_type now) {
  std::multimap<fs::file_time_type, fs::path, std::greater<>> others;
  static_cast<void>(for_each_in(file.parent_path(), [&](const fs::path& other) {
    std::error_code unknown;
    const fs::file_time_type used = fs::last_write_time(other, unknown);
    if (!unknown && is_daemons(other.filename()) && other != file) others.emplace(used, other);
  }));
  std::vector<fs::path> gone;
  std::size_t kept = 1;
  for (const auto& [used, other] : others) {
    std::error_code error;
    if (kept < max_kept_plans && now - used <= longest_unused) {
      ++kept;
    } else if (fs::remove(other, error)) {
      gone.push_back(other);
    }
  }
  return gone;
}

fs::path named_plan_file(const fs::path& root, const std::string& model, const std::string& version) {
  return root / model / (version + std::string(daemons));
}

}  // namespace znni
