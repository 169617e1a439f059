// Reads an ONNX file and writes it again, for tests of what other programs make of it: onnx_again IN OUT [fused].
#include <cstdio>
#include <string>

#include "proto/convert/network_file.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/onnx/writer/onnx_writer.hpp"

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const std::string in = arguments[1];
  const auto loaded = count > 3 ? znni::read_network_file(in) : znni::read_onnx_file(in, {});
  const auto written = loaded ? znni::write_onnx_file(*loaded, arguments[2]) : znni::Result<void>(loaded.error());
  if (written) return 0;
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return 1;
}
