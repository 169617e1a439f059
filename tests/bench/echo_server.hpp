// The bare gRPC server that znnid's streams are compared with: it answers every chunk of a znni.v1.Volumes stream with
// the same bytes, and computes nothing.
#pragma once

#include <memory>

namespace znni::bench {

// On a free port of 127.0.0.1 until destroyed.
class EchoServer {
 public:
  EchoServer();
  ~EchoServer();
  // 0: it could not listen.
  [[nodiscard]] int port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace znni::bench
