// Where plans go when the plan directory cannot be written: a folder of this user among the temporary files, such as
// the tmpfs of a container whose own files are read-only.
#pragma once

#include <filesystem>

namespace znni {

// Returns whether a folder can be written to or, if it does not exist, made. Changes nothing.
[[nodiscard]] bool can_write(const std::filesystem::path& folder);

// Returns the system's directory for temporary files; "" if the system does not say.
[[nodiscard]] std::filesystem::path system_temporary_directory();

// <temporary>/znni-plans-<user>, in place of the plan directory. Makes it when it is not there; "" when it cannot be
// made, or is not this user's alone: nobody else's plans are run.
[[nodiscard]] std::filesystem::path spare_plan_directory(const std::filesystem::path& temporary);

}  // namespace znni
