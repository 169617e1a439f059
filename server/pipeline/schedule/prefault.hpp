// Memory that the system has promised but not yet given. A fresh reservation has no pages, and the first write to one
// waits until it is found and zeroed. prefault() lets the loading of a model wait instead of its first job.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>

#include "primitives/core/executor.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Makes every page of `block` present, in huge pages if the block was mapped for them, on all workers of `executor`. On
// a machine with several memory nodes the pages then lie near the workers that will compute. What the block holds is
// kept; no other thread may use it meanwhile. Returns the seconds it took; fails with `cancelled` if `stop` came first.
[[nodiscard]] Result<Seconds> prefault(std::span<std::byte> block, Executor& executor, const std::stop_token& stop);

// Writes page after page in one thread: what prefault() does on kernels before 5.14, which cannot be asked.
void prefault_by_writing(std::span<std::byte> block);

}  // namespace znni
