// Bounds what the library reserves for bytes that a connection may send next.
#pragma once

namespace znni::rpc {

// Makes the library read into one block at a time, of GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE at most. By itself gRPC 1.51
// reserves as many bytes as came since the socket was last empty, which a client that sends without a pause chooses.
// Sets a variable of the environment: call it before there are other threads, and before the library is used.
void read_in_blocks();

}  // namespace znni::rpc
