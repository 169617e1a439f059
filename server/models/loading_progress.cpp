#include "server/models/loading_progress.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace znni {
namespace {

std::string text_of(const SearchProgress& search) {
  std::string text = ": " + std::to_string(search.looked_at) + " of " + std::to_string(search.candidates) +
                     (search.smaller ? " smaller patches looked at" : " patches looked at");
  if (search.voxels_per_second <= 0) return text + ", none fits so far";
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), "%.3g", search.voxels_per_second);
  return text + ", " + rate.data() + " voxels/s so far";
}

}  // namespace

void LoadingProgress::begin(std::string phase) {
  const std::lock_guard lock(mutex_);
  phase_ = std::move(phase);
  since_ = clock_();
  search_.reset();
}

void LoadingProgress::tell(const SearchProgress& search) {
  const std::lock_guard lock(mutex_);
  search_ = search;
}

std::string LoadingProgress::text() const {
  const std::lock_guard lock(mutex_);
  if (phase_.empty()) return "waits for other models to be loaded";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(clock_() - since_).count();
  return phase_ + " for " + std::to_string(seconds) + " s" + (search_ ? text_of(*search_) : "");
}

}  // namespace znni
