// Threads of a block as fibers of one thread of the host. A fiber runs one thread after the other until one of them
// waits at a barrier; then the next fiber goes on with those that have not begun, so that a kernel without barriers
// needs one.
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/cuda_emulation/block_runner.hpp"
#include "tests/cuda_emulation/include/cuda_runtime.h"

namespace znni::cuda_emulation {
namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack;
  uint3 thread;             // that waits
  std::source_location at;  // the barrier
  bool waits = false;
};

// The fibers of one thread of the host. They are kept, because making one takes longer than using it.
class Fibers {
 public:
  // Runs the threads of one block.
  std::string run(const Grid& grid, const std::function<void()>& kernel);
  // Leaves the fiber that runs until its block goes on.
  void wait(const std::source_location& at);

 private:
  using List = std::vector<std::unique_ptr<Fiber>>;

  static void begin();  // what every fiber runs
  std::unique_ptr<Fiber> take_idle();
  void resume(std::unique_ptr<Fiber> fiber, List& waiting);
  void run_threads();
  [[nodiscard]] std::string divergence(const List& waiting) const;

  const Grid* grid_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
  std::uint64_t begun_ = 0;  // threads of the block
  bool abandoned_ = false;
  List idle_;
  ucontext_t outside_ = {};
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
    swapcontext(&own->context, &all.outside_);
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
  swapcontext(&outside_, &fiber->context);
  List& next = fiber->waits ? waiting : idle_;
  next.push_back(std::move(fiber));
}

void Fibers::wait(const std::source_location& at) {
  Fiber* const own = running_;
  own->thread = threadIdx;
  own->at = at;
  own->waits = true;
  swapcontext(&own->context, &outside_);
  if (abandoned_) throw Abandoned();
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
  if (other == waiting.end()) return "";
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
    const std::string wrong = divergence(waiting);
    abandoned_ = !wrong.empty();
    List now;
    now.swap(waiting);
    for (auto& fiber : now) resume(std::move(fiber), waiting);
    if (abandoned_) return wrong;
  }
  return "";
}

}  // namespace

void wait_for_block(const std::source_location& at) { fibers().wait(at); }

std::string run_blocks(const Grid& grid, const std::function<void()>& kernel) {
  for (std::uint64_t index = 0; index < count_of(grid.blocks); ++index) {
    blockIdx = place_of(grid.blocks, index, grid.backwards);
    const std::string wrong = fibers().run(grid, kernel);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace znni::cuda_emulation
