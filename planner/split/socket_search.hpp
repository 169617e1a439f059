// Chooses between one engine for each socket of a machine and one for all. A socket alone has its memory near and no
// other socket to wait for; all together they hold every kernel and every patch only once.
#pragma once

#include <functional>

#include "planner/search/search.hpp"

namespace znni {

// A search for one device, the machine or one of its sockets: search() or measured_search() with their other arguments.
using SearchOn = std::function<Result<Plan>(const DeviceSpec&, const SearchOptions&, SearchLog*)>;

// Calls `on` for the machine and, if it has several sockets, for one of them. A socket has its share of the memory left
// beside the network's weights, which all read. Returns the plan that is predicted to give more voxels per second. What
// formulas promise of a socket is not set against records of the machine: then all run together. `log` is of the search
// whose plan was taken.
[[nodiscard]] Result<Plan> search_sockets(const Network& network, const DeviceSpec& machine,
                                          const SearchOptions& options, const SearchOn& on, SearchLog* log = nullptr);

}  // namespace znni
