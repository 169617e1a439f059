// The daemon's version, as --version and ServerMetadata tell it.
#pragma once

#include <string_view>

namespace znni {

inline constexpr std::string_view version = "0.1.0";

}  // namespace znni
