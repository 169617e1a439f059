// A bare gRPC server, with which znnid's streams are compared. It answers every chunk of a znni.v1.Volumes stream with
// the same bytes and computes nothing.
#pragma once

#include <memory>

namespace znni::bench {

// Listens on a free port of 127.0.0.1 until destroyed.
class EchoServer {
 public:
  EchoServer();
  ~EchoServer();
  // Returns the port; 0 if the server could not listen.
  [[nodiscard]] int port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace znni::bench
