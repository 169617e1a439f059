# What the installed library of a client links beside WireDependencies.cmake.
find_package(gRPC 1.51 CONFIG REQUIRED)                            # gRPC::grpc++, gRPC::grpc++_reflection
