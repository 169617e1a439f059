// Handles one message of ModelInfer and its answer, for the unary call, the stream and the request over HTTP.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>

#include "proto/inference.pb.h"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/inference/infer_call.hpp"

namespace znni::rpc {

class InferExchange {
 public:
  // Begins an exchange. `method`: its name in the record.
  InferExchange(FrontDoor& door, std::unique_ptr<const Caller> caller, std::string_view method);
  InferExchange(FrontDoor& door, const grpc::ServerContext& context, std::string_view method);

  // Parses and checks a request that was read, and leases its memory where `leased`. One that is refused is freed.
  void admit(grpc::ByteBuffer& wire, bool leased);
  // Checks a request that is a message already, of `bytes` bytes as it travelled, and leases its memory.
  void admit(std::unique_ptr<inference::ModelInferRequest> request, std::int64_t bytes);
  // Computes the answer, or tells why the request was refused; the request is freed.
  [[nodiscard]] Result<void> compute(inference::ModelInferResponse& response);
  // Notes the memory of requests that a call wanted which never came to read a request.
  void want(std::int64_t bytes) { wanted_bytes_ = bytes; }
  // Tells the record how the call ended, at the end of its sending.
  void finish(const Result<void>& result);

  [[nodiscard]] const std::string& id() const { return record_.id; }
  // Returns why a finished call was refused: one of `refusals` (server/rpc/calls/refusal.hpp), or "".
  [[nodiscard]] std::string_view refusal() const { return record_.refusal; }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<AdmittedInfer> check(grpc::ByteBuffer& wire, bool leased);
  [[nodiscard]] Result<AdmittedInfer> check_request(bool leased);
  void keep(Result<AdmittedInfer> admitted);
  [[nodiscard]] Result<void> run(inference::ModelInferResponse& response);

  FrontDoor& door_;
  std::unique_ptr<const Caller> caller_;
  CallRecord record_;
  std::int64_t wanted_bytes_ = 0;  // of the memory of requests, once that is known
  Clock::time_point start_ = Clock::now();
  Clock::time_point computed_;
  std::unique_ptr<inference::ModelInferRequest> request_ = std::make_unique<inference::ModelInferRequest>();
  Result<AdmittedInfer> admitted_ = Error{};
};

}  // namespace znni::rpc
