// Worker threads of one device. Their number is fixed when the executor is made.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace znni {

// A borrowed callable `void(std::int64_t index, int worker)`; must outlive the call it is passed to.
class IndexedTask {
 public:
  template <class Callable>
  requires std::is_invocable_v<Callable&, std::int64_t, int> IndexedTask(
      Callable&& callable)  // NOLINT: implicit by design
      : object_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* object, std::int64_t index, int worker) {
          (*static_cast<std::remove_reference_t<Callable>*>(object))(index, worker);
        }) {}
  void operator()(std::int64_t index, int worker) const { call_(object_, index, worker); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, int);
};

// A fixed set of workers. One thread at a time (the pipeline's worker for the device) makes calls, and sleeps until the
// work is done. Tasks must not call back into the same executor.
class Executor {
 public:
  // Starts so many threads. Each worker first runs `on_start(worker)`, which may pin and name the thread.
  explicit Executor(int workers, std::function<void(int)> on_start = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  [[nodiscard]] int workers() const { return static_cast<int>(threads_.size()); }

  // Runs task(index, worker) for every index in [0, count); workers take the indices dynamically in rising order.
  // Returns when all are done; their writes are visible to the caller. Does not wait for workers that start too late to
  // take an index.
  void parallel_for(std::int64_t count, IndexedTask task);

  // Runs task(worker, worker) once on every worker, all at the same time; the layer divides the work itself.
  void on_every_worker(IndexedTask task);

 private:
  struct Job;
  void work(int worker, const std::function<void(int)>& on_start);
  void run(Job& job);

  std::mutex mutex_;  // guards job_, generation_, busy_, stopping_
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;
  std::int64_t generation_ = 0;
  int busy_ = 0;  // workers that compute
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace znni
