// The folder of plans if the plan directory cannot be written. It is a folder of this user among the temporary files,
// such as the tmpfs of a container whose own files are read-only.
#pragma once

#include <filesystem>

namespace znni {

// Returns whether a folder can be written to or, if it does not exist, made. Changes nothing.
[[nodiscard]] bool can_write(const std::filesystem::path& folder);

// Returns the system's directory for temporary files; "" if the system does not say.
[[nodiscard]] std::filesystem::path system_temporary_directory();

// Returns <temporary>/znni-plans-<user>, in place of the plan directory, and makes it if it is not there. Returns "" if
// it cannot be made or is not this user's alone: plans of other users are not run.
[[nodiscard]] std::filesystem::path temporary_plan_directory(const std::filesystem::path& temporary);

}  // namespace znni
