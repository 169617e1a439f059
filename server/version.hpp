// The programs' version, as --version and the daemon's ServerMetadata tell it.
#pragma once

#include <string_view>

namespace znni {

inline constexpr std::string_view version = "0.1.0";

}  // namespace znni
