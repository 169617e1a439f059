# What all installed libraries link: found when the project is built, and again by a project that links them
# (cmake/znniConfig.cmake.in).
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)                               # protobuf::libprotobuf, protobuf::protoc
