// Frames of HTTP/2 made by hand, for clients that do what no library would.
#pragma once

#include <cstdint>
#include <string>

namespace znni::rpc {

inline constexpr char headers_frame = 1;
inline constexpr char settings_frame = 4;
inline constexpr char end_of_headers = 4;

inline std::string http2_frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xFF); };
  const std::size_t length = payload.size();
  return std::string{byte(length >> 16), byte(length >> 8),  byte(length),      type,        flags,
                     byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)} +
         payload;
}

// The preface, and settings of its own: none.
inline std::string http2_begin() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(settings_frame, 0, 0, ""); }

// A header field by its text, kept in no table.
inline std::string http2_literal(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

// The headers of `count` calls of ModelInfer, whose messages never come.
inline std::string calls_without_messages(std::uint32_t count) {
  const std::string block = "\x83\x86" + http2_literal(":path", "/inference.GRPCInferenceService/ModelInfer") +
                            http2_literal(":authority", "localhost") + http2_literal("te", "trailers") +
                            http2_literal("content-type", "application/grpc");
  std::string calls;
  for (std::uint32_t i = 0; i < count; ++i) calls += http2_frame(headers_frame, end_of_headers, 2 * i + 1, block);
  return calls;
}

}  // namespace znni::rpc
