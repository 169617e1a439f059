#include "server/rpc/receive_turns.hpp"

namespace znni::rpc {

ReceiveTurns::Turn::~Turn() {
  if (turns_ == nullptr) return;
  const std::scoped_lock lock(turns_->mutex_);
  ++turns_->free_;
  turns_->freed_.notify_one();
}

Result<ReceiveTurns::Turn> ReceiveTurns::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!freed_.wait(lock, stop, [this] { return free_ > 0; })) {
    return Error{ErrorCode::cancelled, "the request was stopped before it was received"};
  }
  --free_;
  return Turn(*this);
}

}  // namespace znni::rpc
