// Where the daemon keeps the plans that it makes: by what they are for. A model's name tells nothing of that, and
// another daemon of the same user may have it, too.
//
//   <root>/<network and machine>/<bytes of memory>.plan.pbtxt
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "planner/network.hpp"
#include "primitives/core/device.hpp"
#include "server/models/model_repository.hpp"

namespace znni {

// Whose folder is named by 32 hexadecimal digits: of the network's nodes, without weights, the device's name and its
// threads.
[[nodiscard]] std::filesystem::path kept_plan_file(const std::filesystem::path& root, const Network& network,
                                                   const DeviceSpec& device, std::int64_t memory);

// Those of the network and device that are there for other memory, for the most first.
[[nodiscard]] std::vector<std::filesystem::path> other_plan_files(const std::filesystem::path& root,
                                                                  const Network& network, const DeviceSpec& device,
                                                                  std::int64_t memory);

// <root>/<model>/<version>.plan.pbtxt: where `planner --model-repository` writes, and daemons up to 0.1 did.
[[nodiscard]] std::filesystem::path named_plan_file(const std::filesystem::path& root, const ModelEntry& entry);

}  // namespace znni
