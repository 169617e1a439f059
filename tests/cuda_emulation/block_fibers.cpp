// Threads of a block as fibers of one thread of the host. A fiber runs one thread after the other until one of them
// waits for others; then the next fiber goes on with those that have not begun, so that a kernel without barriers needs
// one.
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/block_runner.hpp"
#include "tests/cuda_emulation/include/cuda_runtime.h"
#include "tests/cuda_emulation/warp.hpp"

namespace znni::cuda_emulation {
namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10;

// A place in a fiber or outside of all, where to go on. Contexts of the C library would do, but they call the system.
struct Place {
  void* words[5];
};

// The address sanitizer would take a jump for the end of a stack, that of the host's thread.
[[gnu::noinline, gnu::no_sanitize("address")]] void jump(Place& to) { __builtin_longjmp(to.words, 1); }

// Goes on at `to`, until something jumps to `own`.
[[gnu::noinline, gnu::no_sanitize("address")]] void leave(Place& own, Place& to) {
  if (__builtin_setjmp(own.words) == 0) jump(to);
}
// Does the same where a context begins.
[[gnu::noinline, gnu::no_sanitize("address")]] void leave(Place& own, const ucontext_t& to) {
  if (__builtin_setjmp(own.words) == 0) setcontext(&to);
}

struct Fiber {
  ucontext_t context;  // where it begins
  Place place = {};    // where it waits
  bool has_begun = false;
  std::unique_ptr<std::byte[]> stack;
  uint3 thread;             // that waits
  std::source_location at;  // the barrier
  bool waits = false;
  void* brought = nullptr;          // to its warp
  const ActForWarp* act = nullptr;  // of its warp; none where it waits for its block
};

// The fibers of one thread of the host. They are kept, because making one takes longer than using it.
class Fibers {
 public:
  // Runs the threads of one block.
  std::string run(const Grid& grid, const std::function<void()>& kernel);
  // Leaves the fiber that runs until its block goes on, or, with something to do for it, its warp.
  void wait(const std::source_location& at, void* brought = nullptr, const ActForWarp* act = nullptr);

 private:
  using List = std::vector<std::unique_ptr<Fiber>>;

  static void begin();  // what every fiber runs
  std::unique_ptr<Fiber> take_idle();
  void resume(std::unique_ptr<Fiber> fiber, List& waiting);
  void run_threads();
  [[nodiscard]] List take_ready(List& waiting) const;
  [[nodiscard]] std::vector<Fiber*> warp_of(const Fiber& fiber, const List& waiting) const;
  void release_a_warp(const List& waiting) const;
  [[nodiscard]] std::string divergence(const List& waiting) const;

  const Grid* grid_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
  std::uint64_t begun_ = 0;  // threads of the block
  bool abandoned_ = false;
  List idle_;
  Place outside_ = {};
  Fiber* running_ = nullptr;
};

Fibers& fibers() {
  thread_local Fibers all;
  return all;
}

void Fibers::run_threads() {
  while (begun_ < count_of(grid_->threads)) {
    threadIdx = place_of(grid_->threads, begun_++, grid_->backwards);
    try {
      (*kernel_)();
    } catch (const Abandoned&) {
      return;
    }
  }
}

void Fibers::begin() {
  Fibers& all = fibers();
  for (;;) {
    Fiber* const own = all.running_;
    all.run_threads();
    leave(own->place, all.outside_);
  }
}

std::unique_ptr<Fiber> Fibers::take_idle() {
  if (!idle_.empty()) {
    std::unique_ptr<Fiber> fiber = std::move(idle_.back());
    idle_.pop_back();
    return fiber;
  }
  auto fiber = std::make_unique<Fiber>();
  fiber->stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = stack_bytes;
  makecontext(&fiber->context, &Fibers::begin, 0);
  return fiber;
}

void Fibers::resume(std::unique_ptr<Fiber> fiber, List& waiting) {
  fiber->waits = false;
  threadIdx = fiber->thread;
  running_ = fiber.get();
  if (std::exchange(fiber->has_begun, true)) {
    leave(outside_, fiber->place);
  } else {
    leave(outside_, fiber->context);
  }
  List& next = fiber->waits ? waiting : idle_;
  next.push_back(std::move(fiber));
}

void Fibers::wait(const std::source_location& at, void* brought, const ActForWarp* act) {
  Fiber* const own = running_;
  own->thread = threadIdx;
  own->at = at;
  own->waits = true;
  own->brought = brought;
  own->act = act;
  leave(own->place, outside_);
  if (abandoned_) throw Abandoned();
}

std::vector<Fiber*> Fibers::warp_of(const Fiber& fiber, const List& waiting) const {
  const auto warp = [&](const Fiber& one) { return index_of(grid_->threads, one.thread) / lanes_of_warp; };
  std::vector<Fiber*> members;
  for (const auto& one : waiting) {
    if (one->act != nullptr && warp(*one) == warp(fiber) && is_same(one->at, fiber.at)) members.push_back(one.get());
  }
  return members;
}

// Acts for one warp that is complete, whose fibers then wait no longer. The same one goes on as long as it can, far
// ahead of the others: what it does too early shows.
void Fibers::release_a_warp(const List& waiting) const {
  for (const auto& fiber : waiting) {
    if (fiber->act == nullptr) continue;
    const std::vector<Fiber*> members = warp_of(*fiber, waiting);
    if (members.size() < lanes_of_warp) continue;
    Brought brought{};
    for (Fiber* member : members) {
      brought[index_of(grid_->threads, member->thread) % lanes_of_warp] = member->brought;
      member->waits = false;
    }
    (*fiber->act)(brought);
    return;
  }
}

// Takes out of `waiting` those that may go on: a complete warp, or else a block that is complete at a barrier.
Fibers::List Fibers::take_ready(List& waiting) const {
  release_a_warp(waiting);
  const auto ready = std::stable_partition(waiting.begin(), waiting.end(), [](const auto& one) { return one->waits; });
  List taken(std::make_move_iterator(ready), std::make_move_iterator(waiting.end()));
  waiting.erase(ready, waiting.end());
  if (taken.empty() && divergence(waiting).empty()) taken.swap(waiting);
  return taken;
}

std::string Fibers::divergence(const List& waiting) const {
  if (waiting.empty()) return "";
  const std::source_location& at = waiting.front()->at;
  if (waiting.size() < count_of(grid_->threads)) {
    return std::to_string(waiting.size()) + " of " + std::to_string(count_of(grid_->threads)) +
           " threads of a block wait at " + place_text(at) + ", the others have ended";
  }
  const auto other =
      std::find_if(waiting.begin(), waiting.end(), [&](const auto& one) { return !is_same(one->at, at); });
  if (other == waiting.end()) {
    const bool is_barrier = waiting.front()->act == nullptr;
    return is_barrier ? "" : "a warp of less than 32 threads meets at " + place_text(at);
  }
  return "threads of a block wait at " + place_text(at) + " and at " + place_text((*other)->at);
}

std::string Fibers::run(const Grid& grid, const std::function<void()>& kernel) {
  grid_ = &grid;
  kernel_ = &kernel;
  begun_ = 0;
  abandoned_ = false;
  List waiting;
  while (begun_ < count_of(grid.threads)) resume(take_idle(), waiting);
  while (!waiting.empty()) {
    List now = take_ready(waiting);
    abandoned_ = now.empty();
    const std::string wrong = abandoned_ ? divergence(waiting) : "";
    if (abandoned_) now.swap(waiting);
    List next;
    for (auto& fiber : now) resume(std::move(fiber), next);
    waiting.insert(waiting.begin(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    if (abandoned_) return wrong;
  }
  return "";
}

}  // namespace

void wait_for_block(const std::source_location& at) { fibers().wait(at); }

void meet_in_warp(void* brought, const ActForWarp& act, const std::source_location& at) {
  fibers().wait(at, brought, &act);
}

std::string run_blocks(const Grid& grid, const std::function<void()>& kernel) {
  for (std::uint64_t index = 0; index < count_of(grid.blocks); ++index) {
    blockIdx = place_of(grid.blocks, index, grid.backwards);
    const std::string wrong = fibers().run(grid, kernel);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace znni::cuda_emulation
