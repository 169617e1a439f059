// Keeps what the back end has to tell its users: each line once.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace znni::cuda {

// Thread safe.
class Notes {
 public:
  // Keeps `line` until it is taken; one that was added before is passed over.
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    if (known_.insert(line).second) waiting_.push_back(std::move(line));
  }
  // Returns the lines that were added since the last call, in their order.
  [[nodiscard]] std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;             // guards both of these
  std::set<std::string> known_;  // all that were ever added: one for each GPU and cause
  std::vector<std::string> waiting_;
};

// Returns the notes of the back end as a whole.
[[nodiscard]] inline Notes& backend_notes() {
  static Notes notes;
  return notes;
}

}  // namespace znni::cuda
