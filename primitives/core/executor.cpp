#include "primitives/core/executor.hpp"

#include <atomic>

#include "primitives/core/result.hpp"

namespace znni {

struct Executor::Job {
  IndexedTask task;
  std::int64_t count;
  bool one_each;
  int workers_started = 0;  // guarded by the executor's mutex
  std::atomic<std::int64_t> next{0};

  // Returns true if no worker that starts now has anything to do.
  [[nodiscard]] bool is_given_out() const { return (one_each ? workers_started : next.load()) >= count; }

  // Takes the first index of a worker that starts; `count` or more if none is left.
  std::int64_t first_index(int worker) {
    if (!one_each) return next.fetch_add(1);
    ++workers_started;
    return worker;
  }

  // Computes that index and, unless each worker has one, all that it can take after it.
  void work(std::int64_t first, int worker) {
    for (std::int64_t index = first; index < count; index = one_each ? count : next.fetch_add(1)) task(index, worker);
  }
};

namespace {

// Stops the workers that were started and joins them.
void end(std::mutex& mutex, bool& stopping, std::condition_variable& wake, std::vector<std::thread>& threads) {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): copied once for each worker, at the start
Executor::Executor(int workers, std::function<void(int)> on_start) {
  ensure(workers >= 1, "an executor needs at least one worker");
  try {
    for (int worker = 0; worker < workers; ++worker) {
      threads_.emplace_back([this, worker, on_start] { work(worker, on_start); });
    }
  } catch (...) {
    end(mutex_, stopping_, wake_, threads_);
    throw;
  }
}

Executor::~Executor() { end(mutex_, stopping_, wake_, threads_); }

void Executor::parallel_for(std::int64_t count, IndexedTask task) {
  if (count <= 0) return;
  Job job{task, count, false};
  run(job);
}

void Executor::on_every_worker(IndexedTask task) {
  Job job{task, workers(), true};
  run(job);
}

void Executor::run(Job& job) {
  std::unique_lock lock(mutex_);
  ensure(job_ == nullptr, "an executor serves one caller at a time");
  job_ = &job;
  ++generation_;
  wake_.notify_all();
  // A worker whose processor another program has may come too late to do anything: the call does not wait for it.
  done_.wait(lock, [&] { return busy_ == 0 && job.is_given_out(); });
  job_ = nullptr;
}

void Executor::work(int worker, const std::function<void(int)>& on_start) {
  if (on_start) on_start(worker);
  std::int64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || (job_ != nullptr && generation_ != seen); });
    if (stopping_) return;
    seen = generation_;
    Job* job = job_;
    // Only a worker that has an index is waited for: one that loses its processor here would hold the call up.
    const std::int64_t first = job->first_index(worker);
    if (first >= job->count) continue;
    ++busy_;
    lock.unlock();
    job->work(first, worker);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace znni
