#include "primitives/cpu/device/chip_tasks.hpp"

#include <algorithm>

#include "primitives/core/result.hpp"
#include "primitives/cpu/device/topology.hpp"

namespace znni::cpu {

std::vector<int> choose_primaries(const std::vector<int>& chip_of_worker, std::int64_t count) {
  const auto workers = static_cast<int>(chip_of_worker.size());
  ensure(1 <= count && count <= workers, "primary threads are chosen among the workers");
  std::vector<int> chosen;
  std::vector<int> rank(chip_of_worker.size());  // rank of a worker among those of its chip
  for (int worker = 0; worker < workers; ++worker) {
    const auto at = static_cast<std::size_t>(worker);
    rank[at] =
        static_cast<int>(std::count(chip_of_worker.begin(), chip_of_worker.begin() + worker, chip_of_worker[at]));
    chosen.push_back(worker);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int a, int b) { return rank[static_cast<std::size_t>(a)] < rank[static_cast<std::size_t>(b)]; });
  chosen.resize(static_cast<std::size_t>(count));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int> worker_chips(int workers) {
  std::vector<int> chips(static_cast<std::size_t>(workers), 0);
  const Result<Topology> topology = read_topology();
  if (!topology) return chips;
  const std::vector<Core> cores = pin_list(*topology, workers);
  for (std::size_t worker = 0; worker < std::min(chips.size(), cores.size()); ++worker) {
    const bool pinned = cores[worker].os_index >= 0;
    if (pinned) chips[worker] = std::max(0, cores[worker].chip);
  }
  return chips;
}

ChipTasks::ChipTasks(const std::vector<int>& chip_of_worker, const std::vector<int>& primaries)
    : chip_of_worker_(chip_of_worker) {
  const int last = *std::max_element(chip_of_worker_.begin(), chip_of_worker_.end());
  for (int chip = 0; chip <= last; ++chip) chips_.emplace_back();
  for (const int primary : primaries) ++chip_of(primary).primaries;
}

// Runs one task of an offer that has tasks left. The caller holds the lock; it is released during the task.
void ChipTasks::take(Chip& chip, Offer& offer, int worker, std::unique_lock<std::mutex>& lock) {
  const std::int64_t index = offer.next++;
  ++offer.running;
  if (offer.next == offer.count) chip.offers.erase(std::find(chip.offers.begin(), chip.offers.end(), &offer));
  const IndexedTask* task = offer.task;
  lock.unlock();
  (*task)(index, worker);
  lock.lock();
  --offer.running;
}

void ChipTasks::share(int primary, std::int64_t count, IndexedTask task) {
  if (count == 1) return task(0, primary);  // nothing to share
  Chip& chip = chip_of(primary);
  Offer offer{&task, 0, count, 0};
  std::unique_lock lock(chip.mutex);
  chip.offers.push_back(&offer);
  if (chip.idle > 0) chip.changed.notify_all();
  while (offer.next < offer.count) take(chip, offer, primary, lock);
  chip.changed.wait(lock, [&] { return offer.running == 0; });
}

void ChipTasks::retire(int primary) {
  Chip& chip = chip_of(primary);
  const std::lock_guard lock(chip.mutex);
  --chip.primaries;
  ensure(chip.primaries >= 0, "a primary thread retires once");
  chip.changed.notify_all();
}

void ChipTasks::help(int worker) {
  Chip& chip = chip_of(worker);
  std::unique_lock lock(chip.mutex);
  while (true) {
    ++chip.idle;
    chip.changed.wait(lock, [&] { return !chip.offers.empty() || chip.primaries == 0; });
    --chip.idle;
    if (chip.offers.empty()) return;
    Offer& offer = *chip.offers.front();
    take(chip, offer, worker, lock);
    // The offer lives on its primary's stack only until its last task is done: use it only under the lock.
    if (offer.running == 0) chip.changed.notify_all();
  }
}

}  // namespace znni::cpu
