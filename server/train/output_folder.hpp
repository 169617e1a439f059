// The folder that a training writes into: one trains there at a time, goes on from the checkpoint in it, and writes a
// version of the model once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/network/graph_edits.hpp"
#include "primitives/core/file_handle.hpp"
#include "server/train/checkpoint.hpp"

namespace znni {

// Makes the folder if it is not there, and keeps it from other trainings as long as the handle is open. Removes what
// trainings that were killed have left of unfinished checkpoints, logs and curves. Fails with unavailable if another
// one trains there.
[[nodiscard]] Result<FileHandle> lock_output(const std::filesystem::path& folder);

[[nodiscard]] std::string checkpoint_file(const std::filesystem::path& folder);
[[nodiscard]] std::string best_file(const std::filesystem::path& folder);
[[nodiscard]] std::string log_file(const std::filesystem::path& folder);
[[nodiscard]] std::string curve_file(const std::filesystem::path& folder);

// Returns the checkpoint to go on from; nothing if there is none. Fails as read_checkpoint() does, and if it is of
// another training than that of the fingerprint. Changes no file.
[[nodiscard]] Result<std::optional<Checkpoint>> find_checkpoint(const std::filesystem::path& folder,
                                                                const std::string& training);

// Removes the checkpoint, and then the best weights, as far as they are there. They do not come back after a power cut.
[[nodiscard]] Result<void> remove_checkpoint(const std::filesystem::path& folder);

// Returns the newest version of the model in the folder if it is this network with these weights, bit by bit: a kill
// between writing it and noting that in the checkpoint leaves it.
[[nodiscard]] std::optional<std::string> newest_version_if(const LoadedNetwork& served,
                                                           const std::filesystem::path& folder);

}  // namespace znni
