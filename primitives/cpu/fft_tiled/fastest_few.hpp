// Keeps the fastest few of many choices without storing or sorting all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::cpu::fft_tiled {

template <class Choice>
class FastestFew {
 public:
  explicit FastestFew(std::size_t max_count) : max_count_(max_count) {}

  // Keeps `choice` if fewer than the maximum count are faster; of equal ones it keeps those added first.
  void add(Seconds seconds, const Choice& choice) {
    if (kept_.size() == max_count_ && seconds >= kept_.back().seconds) return;
    const auto is_faster = [](Seconds one, const Kept& other) { return one < other.seconds; };
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), seconds, is_faster), {seconds, choice});
    if (kept_.size() > max_count_) kept_.pop_back();
  }

  // Returns the choices by rising time.
  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> found;
    for (const Kept& one : kept_) found.push_back(one.choice);
    return found;
  }

 private:
  struct Kept {
    Seconds seconds = 0;
    Choice choice;
  };
  std::size_t max_count_;
  std::vector<Kept> kept_;
};

}  // namespace znni::cpu::fft_tiled
