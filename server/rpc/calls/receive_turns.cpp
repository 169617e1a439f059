#include "server/rpc/calls/receive_turns.hpp"

namespace znni::rpc {

ReceiveTurns::Turn::~Turn() {
  if (turns_ == nullptr) return;
  const std::scoped_lock lock(turns_->mutex_);
  ++turns_->free_;
  turns_->of_clients_.remove(client_);
  // One that waits may have its share already.
  turns_->freed_.notify_all();
}

Result<ReceiveTurns::Turn> ReceiveTurns::wait(const std::stop_token& stop, const std::string& client) {
  std::unique_lock lock(mutex_);
  const auto may_have_one = [&] { return free_ > 0 && of_clients_.of(client) < max_of_client_; };
  if (!freed_.wait(lock, stop, may_have_one)) {
    return Error{ErrorCode::cancelled, "the request was stopped before it was received"};
  }
  --free_;
  of_clients_.add(client);
  return Turn(*this, client);
}

}  // namespace znni::rpc
