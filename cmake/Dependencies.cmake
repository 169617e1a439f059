# Every library the project uses, with the least version it was tried with. The Debian packages that carry
# them are listed in deploy/packages/.
include(LibraryDependencies)

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)          # writes transforms; runs structure and end-to-end tests

# Command lines.
find_package(CLI11 2.1 CONFIG REQUIRED)                            # CLI11::CLI11
find_package(nlohmann_json 3.11 CONFIG REQUIRED)                   # nlohmann_json::nlohmann_json

if(ZNNI_SERVER)
  find_package(gRPC 1.51 CONFIG REQUIRED)                          # gRPC::grpc++, gRPC::grpc++_reflection
  find_package(OpenSSL 3.0 REQUIRED)                               # OpenSSL::Crypto
  find_package(spdlog 1.10 CONFIG REQUIRED)                        # spdlog::spdlog, compiled
  pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib>=0.11)  # PkgConfig::HTTPLIB, metrics and probes
  find_package(HDF5 1.10 REQUIRED COMPONENTS C)                    # hdf5::hdf5
  find_package(TIFF 4.5 REQUIRED)                                  # TIFF::TIFF
endif()

if(ZNNI_DEVELOPER)
  find_package(GTest 1.12 CONFIG REQUIRED)                         # GTest::gtest_main, GTest::gmock
endif()
