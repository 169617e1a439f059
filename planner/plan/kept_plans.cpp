#include "planner/plan/kept_plans.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>

#include "planner/base/fingerprint.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".plan.pbtxt";

fs::path folder_of(const fs::path& root, const Network& network, const DeviceSpec& device) {
  Fingerprint print;
  for (const std::string& node : describe(network)) print.add(node);
  if (network.window != Vec3{}) print.add(to_string(network.window));
  print.add(device.name);
  print.add(std::to_string(device.threads));
  return root / print.text();
}

// 0 of a file that is none of ours.
std::int64_t memory_of(const std::string& file) {
  std::int64_t bytes = 0;
  const char* const last = file.data() + file.size();
  const auto [end, error] = std::from_chars(file.data(), last, bytes);
  return error == std::errc() && std::string_view(end, last) == ending ? bytes : 0;
}

}  // namespace

fs::path kept_plan_file(const fs::path& root, const Network& network, const DeviceSpec& device, std::int64_t memory) {
  return folder_of(root, network, device) / (std::to_string(memory) + std::string(ending));
}

std::vector<fs::path> other_plan_files(const fs::path& root, const Network& network, const DeviceSpec& device,
                                       std::int64_t memory) {
  std::map<std::int64_t, fs::path, std::greater<>> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_of(root, network, device), error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::int64_t bytes = memory_of(it->path().filename());
    if (bytes > 0 && bytes != memory) found.emplace(bytes, it->path());
  }
  std::vector<fs::path> files;
  for (const auto& [bytes, file] : found) files.push_back(file);
  return files;
}

void note_use(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

std::vector<fs::path> prune_plans(const fs::path& file, fs::file_time_type now) {
  std::multimap<fs::file_time_type, fs::path, std::greater<>> others;
  std::error_code error;
  for (fs::directory_iterator it(file.parent_path(), error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code unknown;
    const fs::file_time_type used = fs::last_write_time(it->path(), unknown);
    if (!unknown && memory_of(it->path().filename()) > 0 && it->path() != file) others.emplace(used, it->path());
  }
  std::vector<fs::path> gone;
  std::size_t kept = 1;
  for (const auto& [used, other] : others) {
    if (kept < max_kept_plans && now - used <= longest_unused) {
      ++kept;
    } else if (fs::remove(other, error)) {
      gone.push_back(other);
    }
  }
  return gone;
}

fs::path named_plan_file(const fs::path& root, const std::string& model, const std::string& version) {
  return root / model / (version + std::string(ending));
}

}  // namespace znni
