// Frames of HTTP/2 made by hand, for clients that do what no library would.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace znni::rpc {

inline constexpr char data_frame = 0;
inline constexpr char headers_frame = 1;
inline constexpr char reset_frame = 3;
inline constexpr char settings_frame = 4;
inline constexpr char end_of_stream = 1;
inline constexpr char end_of_headers = 4;

inline constexpr int initial_window = 4;  // a setting

inline std::string http2_frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xFF); };
  const std::size_t length = payload.size();
  return std::string{byte(length >> 16), byte(length >> 8),  byte(length),      type,        flags,
                     byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)} +
         payload;
}

// Returns the preface, and settings of its own, of six bytes each: none.
inline std::string http2_begin(const std::string& settings = "") {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(settings_frame, 0, 0, settings);
}

// Returns the setting by which a client takes no byte of an answer's message.
inline std::string http2_no_window() { return {0, 4, 0, 0, 0, 0}; }

// Returns the number that `count` bytes from `first` on make.
inline std::uint32_t http2_number(const std::string& bytes, std::size_t first, std::size_t count) {
  std::uint32_t number = 0;
  for (std::size_t i = first; i < first + count; ++i) number = number << 8 | static_cast<unsigned char>(bytes.at(i));
  return number;
}

// Returns the value of `setting` in the payload of a SETTINGS frame, if it is there.
inline std::optional<std::uint32_t> http2_setting(const std::string& payload, std::uint32_t setting) {
  for (std::size_t i = 0; i + 6 <= payload.size(); i += 6) {
    if (http2_number(payload, i, 2) == setting) return http2_number(payload, i + 2, 4);
  }
  return std::nullopt;
}

// Returns a header field by its text, kept in no table.
inline std::string http2_literal(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

// Returns the headers of a call.
inline std::string http2_call(const std::string& path) {
  return "\x83\x86" + http2_literal(":path", path) + http2_literal(":authority", "localhost") +
         http2_literal("te", "trailers") + http2_literal("content-type", "application/grpc");
}

// Returns the reset of a call.
inline std::string http2_reset(std::uint32_t stream) {
  return http2_frame(reset_frame, 0, stream, std::string(4, '\0'));
}

// Returns the headers of `count` calls from the one number `first` on, whose messages never come.
inline std::string calls_without_messages(std::uint32_t count,
                                          const std::string& path = "/inference.GRPCInferenceService/ModelInfer",
                                          std::uint32_t first = 0) {
  std::string calls;
  for (std::uint32_t i = first; i < first + count; ++i) {
    calls += http2_frame(headers_frame, end_of_headers, 2 * i + 1, http2_call(path));
  }
  return calls;
}

// Returns `count` calls with an empty message each.
inline std::string calls_with_empty_messages(std::uint32_t count, const std::string& path) {
  std::string calls;
  for (std::uint32_t i = 0; i < count; ++i) {
    calls += http2_frame(headers_frame, end_of_headers, 2 * i + 1, http2_call(path)) +
             http2_frame(data_frame, end_of_stream, 2 * i + 1, std::string(5, '\0'));
  }
  return calls;
}

}  // namespace znni::rpc
