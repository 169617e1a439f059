#include "server/models/temporary_plans.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

namespace znni {
namespace {

namespace fs = std::filesystem;

// Returns true for a directory, not a link to one, that no other user may write to.
bool is_ours(const fs::path& folder) {
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) return false;
  return S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

bool can_write(const fs::path& folder) {
  std::error_code ignored;
  fs::path there = fs::absolute(folder, ignored);
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  return fs::is_directory(there, ignored) && access(there.c_str(), W_OK | X_OK) == 0;
}

fs::path system_temporary_directory() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return error ? fs::path() : folder;
}

fs::path temporary_plan_directory(const fs::path& temporary) {
  const fs::path folder = temporary / ("znni-plans-" + std::to_string(geteuid()));
  static_cast<void>(mkdir(folder.c_str(), S_IRWXU));  // there already, or is_ours() sees that it is not
  return is_ours(folder) ? folder : fs::path();
}

}  // namespace znni
