// The plans that `znnid` and `planner --model-repository` make are kept by what they are for. A model's name tells
// nothing of that, and another daemon of the same user may use the same name.
//
//   <root>/<network and machine>/<bytes of memory>.plan.pbtxt
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/device.hpp"

namespace znni {

// Returns the file of a plan. Its folder is named by 32 hexadecimal digits, a fingerprint of the network's nodes
// without weights, its window, the device's name and its threads.
[[nodiscard]] std::filesystem::path kept_plan_file(const std::filesystem::path& root, const Network& network,
                                                   const DeviceSpec& device, std::int64_t memory);

// Returns the plan files of this network and device for other memory, the largest memory first.
[[nodiscard]] std::vector<std::filesystem::path> other_plan_files(const std::filesystem::path& root,
                                                                  const Network& network, const DeviceSpec& device,
                                                                  std::int64_t memory);

// Notes that the kept plan `file` is used now. Where that cannot be written, nothing happens.
void note_use(const std::filesystem::path& file);

inline constexpr std::size_t max_kept_plans = 16;
inline constexpr std::chrono::hours longest_unused{24 * 30};

// Removes plans from the folder of the kept plan `file`, which stays: all but the max_kept_plans that were used last,
// and those that were not used for longest_unused before `now`. Returns those that are gone.
std::vector<std::filesystem::path> prune_plans(
    const std::filesystem::path& file,
    std::filesystem::file_time_type now = std::filesystem::file_time_type::clock::now());

// Returns <root>/<model>/<version>.plan.pbtxt. Older planners and daemons wrote there, and a user may put a plan there.
[[nodiscard]] std::filesystem::path named_plan_file(const std::filesystem::path& root, const std::string& model,
                                                    const std::string& version);

}  // namespace znni
