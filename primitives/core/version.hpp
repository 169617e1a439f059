// The programs' version, as --version and the daemon's ServerMetadata tell it.
#pragma once

#include <string>
#include <string_view>

namespace znni {

inline constexpr std::string_view project_version = "0.2.0";

// Returns the text of `program --version`. `notice`: the notice that a library within it asks for; empty if none does.
inline std::string version_text(std::string_view program, std::string_view notice) {
  return std::string(program) + " " + std::string(project_version) + "\n" +
         std::string(notice.empty() ? "Distributed under Apache-2.0." : notice);
}

}  // namespace znni
