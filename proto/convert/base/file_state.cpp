#include "proto/convert/base/file_state.hpp"

#include <sys/stat.h>

namespace znni {

std::optional<FileState> file_state(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileState{facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

}  // namespace znni
