# Toolchain file: arm64, with Debian's cross compiler and qemu-user (make test-cross).
set(COUPLET_CROSS_ARCHITECTURE arm64)
set(COUPLET_CROSS_TRIPLET aarch64-linux-gnu)
set(COUPLET_CROSS_EMULATOR qemu-aarch64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include("${CMAKE_CURRENT_LIST_DIR}/CoupletCross.cmake")
