// The plans that `znnid` and `planner --model-repository` make are kept by what they are for. A model's name tells
// nothing of that, and another daemon of the same user may use the same name. The ending says who made a plan: the
// daemon removes its own, never the planner's.
//
//   <root>/<network and machine>/<bytes of memory>.plan.pbtxt              by `znnid`
//   <root>/<network and machine>/<bytes of memory>.of-ZxYxX.plan.pbtxt     by `znnid --volume Z,Y,X`
//   <root>/<network and machine>/<bytes of memory>.planner.pbtxt           by `planner --model-repository`
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "primitives/core/device.hpp"

namespace znni {

// Returns the file of a plan of the daemon. Its folder is named by 32 hexadecimal digits, a fingerprint of the
// network's nodes without weights, its window, the device's name and its threads. `volume`: the extent of the input
// that the plan is for; nothing for a volume without end.
[[nodiscard]] std::filesystem::path kept_plan_file(const std::filesystem::path& root, const Network& network,
                                                   const DeviceSpec& device, std::int64_t memory,
                                                   const std::optional<Vec3>& volume = {});

// Returns the file of a plan of the planner, in the same folder.
[[nodiscard]] std::filesystem::path planner_plan_file(const std::filesystem::path& root, const Network& network,
                                                      const DeviceSpec& device, std::int64_t memory);

// Returns the daemon's plan files of this network and device for other memory and volumes without end, the largest
// memory first.
[[nodiscard]] std::vector<std::filesystem::path> other_plan_files(const std::filesystem::path& root,
                                                                  const Network& network, const DeviceSpec& device,
                                                                  std::int64_t memory);

// Returns the planner's plan files of a network and device, in the order in which a model that may take `memory` bytes
// tries them: those for that much or down to half, the most bytes first, which fit as they are; those for more, the
// least bytes first, which may need less than they were made for; the others, the most bytes first. Fails with the
// system's reason if their folder is there and cannot be listed.
[[nodiscard]] Result<std::vector<std::filesystem::path>> planner_plan_files(const std::filesystem::path& root,
                                                                            const Network& network,
                                                                            const DeviceSpec& device,
                                                                            std::int64_t memory);

// Returns the planner's plan files of other networks or devices, in order of their names.
[[nodiscard]] std::vector<std::filesystem::path> planner_plans_elsewhere(const std::filesystem::path& root,
                                                                         const Network& network,
                                                                         const DeviceSpec& device);

// Notes that the kept plan `file` is used now. Where that cannot be written, nothing happens.
void note_use(const std::filesystem::path& file);

inline constexpr std::size_t max_kept_plans = 16;
inline constexpr std::chrono::hours longest_unused{24 * 30};

// Removes plans of the daemon from the folder of the kept plan `file`, which stays. Keeps the max_kept_plans that were
// used last, unless they were not used for longest_unused before `now`. Returns those that are gone.
std::vector<std::filesystem::path> prune_plans(
    const std::filesystem::path& file,
    std::filesystem::file_time_type now = std::filesystem::file_time_type::clock::now());

// Returns <root>/<model>/<version>.plan.pbtxt, where older planners and daemons wrote.
[[nodiscard]] std::filesystem::path named_plan_file(const std::filesystem::path& root, const std::string& model,
                                                    const std::string& version);

}  // namespace znni
