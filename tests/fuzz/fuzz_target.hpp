// The function that every fuzz target defines, in libFuzzer's form: takes any bytes, and neither crashes nor breaks a
// promise (then it aborts). tests/fuzz/replay.cpp runs it over its corpus and changes of it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
