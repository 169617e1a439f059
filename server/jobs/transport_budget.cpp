#include "server/jobs/transport_budget.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "primitives/core/shape.hpp"

namespace znni {

TransportLease::TransportLease(std::shared_ptr<TransportBudget> budget, std::int64_t bytes)
    : budget_(std::move(budget)), bytes_(bytes) {}

TransportLease::TransportLease(TransportLease&& other) noexcept
    : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}

TransportLease& TransportLease::operator=(TransportLease&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

TransportLease::~TransportLease() {
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex);
  budget_->used -= bytes_;
}

Result<TransportLease> take_lease(const std::shared_ptr<TransportBudget>& budget, std::int64_t bytes) {
  if (bytes < 0) {
    return Error{ErrorCode::invalid_argument,
                 "a request of " + std::to_string(bytes) + " bytes was announced; sizes are not negative"};
  }
  const std::lock_guard lock(budget->mutex);
  if (bytes > budget->limit - budget->used) {
    return Error{ErrorCode::over_budget, "the request needs " + bytes_text(bytes) + " of transport memory; " +
                                             bytes_text(budget->limit - budget->used) + " of " +
                                             bytes_text(budget->limit) + " are free"};
  }
  budget->used += bytes;
  budget->peak = std::max(budget->peak, budget->used);
  return TransportLease(budget, bytes);
}

std::int64_t usual_share(TransportBudget& budget) {
  const std::lock_guard lock(budget.mutex);
  return (budget.limit - budget.used) / 2;
}

std::int64_t idle_share(const TransportBudget& budget) { return budget.limit / 2; }

}  // namespace znni
