#include "server/rpc/base/client_text.hpp"

namespace znni::rpc {
namespace {

constexpr std::string_view ellipsis = "...";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::size_t cut_at(std::string_view text, std::size_t max_bytes) {
  std::size_t end = max_bytes > ellipsis.size() ? max_bytes - ellipsis.size() : 0;
  while (end > 0 && continues_character(text[end])) --end;
  return end;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  std::string line(cut ? text.substr(0, cut_at(text, max_bytes)) : text);
  for (char& c : line) {
    if (is_control(c)) c = ' ';
  }
  if (cut) line += ellipsis;
  return line;
}

std::string in_quotes(std::string_view name) {
  std::string text = "'";
  text += one_line(name, 80);
  text += '\'';
  return text;
}

}  // namespace znni::rpc
